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

}  // namespace
}  // namespace lathe::driver
