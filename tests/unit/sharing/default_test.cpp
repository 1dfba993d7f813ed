// Default programs of awkward shapes, against a count of every iteration.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/sanitized.h"
#include "support/targets.h"
#include "tuner/space/space.h"
#include "unit/sharing/compare.h"

namespace lathe::sharing {
namespace {

flat::Program default_program(const std::string& text, const Target& target) {
  const auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text();
  const auto space = space::derive_space(*workload, target, space::Flavour::kDefault);
  EXPECT_TRUE(space) << space.error().text();
  ir::Nest nest = te::naive_nest(*workload);
  EXPECT_TRUE(schedule::apply(nest, (*space)->trace((*space)->default_config()), false));
  auto flat = lower::lower(ir::SizedNest(nest, {}), target);
  EXPECT_TRUE(flat) << flat.error().text();
  return std::move(*flat);
}

constexpr const char* kWorkloads[] = {
    "A: f32[67,31]; B: f32[67,131]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "A: f32[1,64]; B: f32[64,1]; C[i,j] = sum(k) A[i,k] * B[k,j]",
    "X: f32[1,17,13,13]; const W: f32[37,17,3,3]; "
    "Y[n,o,y:13,x:13] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
    "X: f32[2,7,15,11]; const W: f32[19,7,5,5]; "
    "Y[n,o,y:8,x:6] = sum(c,r,s) X[n,c,2*y+r-2,2*x+s-2 else 0] * W[o,c,r,s]",
    "X: f32[53,7,7]; W: f32[53,3,3]; "
    "Y[c,y:7,x:7] = sum(r,s) X[c,y+r-1,x+s-1 else 0] * W[c,r,s]",
    "X: f32[61,127]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "X: f32[97,101]; Y[i,j] = X[j,i]",
    "X: f32[10007]; Y[o:1] = sum(k) X[k]",
    "X: f32[3,41,43]; Y[c,y:20,x:21] = max(r:3,s:3) X[c,2*y+r,2*x+s else -inf]",
};

TEST(Sharing, OfDefaultProgramsIsTheCountOfAllIterations) {
  const std::vector<int> counts =
      test::kSanitized ? std::vector{3, 64} : std::vector{1, 2, 3, 16, 64, 1024};
  for (const char* text : kWorkloads)
    for (const int threads : counts)
      for (const Target& target : {test::avx512(threads), test::sse(threads)}) {
        const flat::Program program = default_program(text, target);
        compare(program, {threads}, target.as_cpu().vector_bits / 8);
        if (HasFailure()) FAIL() << text << " for " << target.text();
      }
}

// A stage inside the loop over the columns of its reader, whose rows it depends on alone.
TEST(Sharing, OfAStageThatEachColumnComputesAgain) {
  const auto workload = te::parse_workload(
      "X: f32[7,37]; Z: f32[11,37]; E[i,k] = exp(X[i,k]); Y[i,j] = sum(k) E[i,k] * Z[j,k]");
  ASSERT_TRUE(workload) << workload.error().text();
  for (const auto& [shared, repeats] : {std::pair("Y.i", false), std::pair("Y.j", true)}) {
    ir::Nest nest = te::naive_nest(*workload);
    schedule::Trace trace = {
        schedule::ComputeAt{"E", "Y.j"},
        schedule::Split{"E.k@Y.j", std::int64_t{8}, "ko", "ki", ir::Tail::kMask},
        schedule::Annotate{.loop = "ki", .kind = ir::LoopKind::kVectorized},
        schedule::Annotate{.loop = "Y.i", .kind = ir::LoopKind::kParallel}};
    if (repeats)
      trace.push_back(schedule::Annotate{.loop = "Y.j", .kind = ir::LoopKind::kParallel});
    const auto applied = schedule::apply(nest, trace, false);
    ASSERT_TRUE(applied) << applied.error().text();
    const Target target = test::avx512(4);
    const auto program = lower::lower(ir::SizedNest(nest, {}), target);
    ASSERT_TRUE(program) << program.error().text();
    compare(*program, {1, 4, 64}, 64, true);
    const auto sharing = sharing_of(*program, 4);
    ASSERT_TRUE(sharing);
    const Phase& phase = sharing->kernels[0].phases[0];
    EXPECT_EQ(phase.parts, repeats ? 77 : 7) << flat::print(*program);
    EXPECT_EQ(phase.repeats.computed_again.operations > phase.all.operations / 2, repeats);
  }
}

}  // namespace
}  // namespace lathe::sharing
