// Programs too large to be run in a test: whatever their spaces hold can be built.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/targets.h"
#include "tuner/space/space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

void expect_built(const std::string& text, const Target& target) {
  const auto workload = te::parse_workload(text);
  ASSERT_TRUE(workload) << workload.error().text();
  const auto space = derive_space(*workload, target, Flavour::kDefault);
  ASSERT_TRUE(space) << space.error().text();
  Rng rng(1);
  for (int i = 0; i < 24; ++i) {
    const Config config = i == 0 ? (*space)->default_config() : (*space)->random(rng);
    const schedule::Trace trace = (*space)->trace(config);
    ir::Nest nest = te::naive_nest(*workload);
    const auto applied = schedule::apply(nest, trace, false);
    ASSERT_TRUE(applied) << text << "\n"
                         << applied.error().text() << "\n"
                         << schedule::print(trace);
    const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
    ASSERT_TRUE(flat) << text << "\n" << flat.error().text() << "\n" << schedule::print(trace);
  }
}

TEST(Large, TracesApply) {
  for (const char* text :
       {"X: f32[4099,4097]; Y[i,j] = max(X[i,j], 0.0)",
        "X: f32[16396000]; Y[i:16395999] = X[i+1] - X[i]",
        "A: f32[40000003]; B: f32[40000003]; C[i] = A[i] + B[i]",
        "X: i8[65537,1025]; Y[i,j] = X[i,j] + X[i,j]", "X: f32[4099,8191]; Y[j,i] = X[i,j]",
        "X: f32[3,20000003]; Y[i] = sum(j) X[i,j]", "X: f32[20000003,3]; Y[j] = max(i) X[i,j]",
        "A: f32[100003,7]; B: f32[7,401]; C[i,j] = sum(k) A[i,k] * B[k,j]",
        "A: f32[5,4000037]; B: f32[4000037,9]; C[i,j] = sum(k) A[i,k] * B[k,j]",
        "X: f32[1,4,4001,4003]; W: f32[8,4,3,3]; "
        "Y[n,o,y:3999,x:4001] = sum(c,r,s) X[n,c,y+r,x+s] * W[o,c,r,s]"})
    for (const Target& target : {avx512(1), avx512(2), sse(1)}) expect_built(text, target);
}

}  // namespace
}  // namespace lathe::space
