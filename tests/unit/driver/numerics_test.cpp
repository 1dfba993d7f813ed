// Traces whose algorithms need more than a workload allows become no programs.
#include <gtest/gtest.h>

#include "compiler/driver/driver.h"
#include "compiler/schedule/step.h"
#include "compiler/te/parse.h"

namespace lathe::driver {
namespace {

std::string refusal(const std::string& text, const schedule::Trace& trace) {
  const auto nest = scheduled(*te::parse_workload(text), trace);
  return nest ? "" : nest.error().text();
}

TEST(Numerics, OfATraceAreThoseThatTheWorkloadAllows) {
  const std::string product = "A: f32[8,8]; B: f32[8,8]; C[i,j] = sum(k) A[i,k] * B[k,j]";
  const schedule::Trace strassen = {schedule::Strassen{"C", "i", "j", "k"}};
  EXPECT_EQ(refusal(product, strassen),
            "step 0: strassen is normwise, and numerics local does not allow it; take another "
            "schedule, or ask for numerics normwise");
  EXPECT_EQ(refusal(product + "; numerics normwise", strassen), "");
  EXPECT_EQ(refusal(product + "; algorithm strassen", strassen), "");
  const std::string window =
      "X: f32[3,16]; const W: f32[8,3,3]; Y[o,x] = sum(c,r) X[c,x+r] * W[o,c,r]";
  const schedule::Trace cook_toom = {schedule::CookToom{"Y", {"r"}, {2}}};
  EXPECT_EQ(refusal(window, cook_toom), "");
  for (const char* level : {"; numerics componentwise", "; algorithm direct"})
    EXPECT_TRUE(refusal(window + level, cook_toom)
                    .starts_with("step 0: cook_toom is local, and numerics componentwise"))
        << level;
}

TEST(Numerics, OfAnIntrinsicThatRoundsAreThoseThatTheWorkloadAllows) {
  const std::string product = "A: f32[16,8]; B: f32[8,8]; C[i,j] = sum(k) A[i,k] * B[k,j]";
  const auto by = [](const char* name) {
    return schedule::Trace{schedule::Tensorize{"C.i", *ir::intrinsic_named(name)}};
  };
  EXPECT_EQ(refusal(product, by("mma.m16n8k8.tf32")),
            "step 0: mma.m16n8k8.tf32 rounds the factors of a product, which makes an error of up "
            "to 0.000977 of it, and max_error 2e-05 does not allow that; take another schedule, or "
            "ask for a max_error of 0.00098");
  EXPECT_NE(refusal(product + "; max_error 9e-4", by("mma.m16n8k8.tf32")), "");
  EXPECT_EQ(refusal(product + "; max_error 0.00098", by("mma.m16n8k8.tf32")), "");
  // Factors that are taken as they are ask for nothing.
  const std::string square = "A: f32[8,8]; B: f32[8,8]; C[i,j] = sum(k) A[i,k] * B[k,j]";
  EXPECT_EQ(refusal(square + "; max_error 1e-6", by("gemm8x8")), "");
}

}  // namespace
}  // namespace lathe::driver
