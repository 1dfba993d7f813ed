// Slices that take turns compute what threads compute, and each is given out once.
#include "api/in_turns.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "api/schedules.h"
#include "api/workload.h"

namespace lathe::api {
namespace {

constexpr const char* kWorkloads[] = {
    "A: f32[67,31]; B: f32[67,131]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "X: f32[1,17,13,13]; const W: f32[37,17,3,3]; "
    "Y[n,o,y:13,x:13] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
    "X: f32[61,127]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
    "X: f32[100003]; Y[o:1] = sum(k) X[k]",
};

std::unique_ptr<LoadedProgram> load(const std::string& text, int number, Threads threads) {
  const auto workload = make_workload({.text = text});
  EXPECT_TRUE(workload) << workload.error().text();
  const auto target = make_target("cpu:host", number);
  EXPECT_TRUE(target);
  const auto source = schedule_source({.which = "default", .database = {}});
  EXPECT_TRUE(source);
  const auto chosen = (*source)(workload->definition, *target);
  EXPECT_TRUE(chosen) << chosen.error().text();
  auto loaded =
      LoadedProgram::make(workload->definition, chosen->trace, *target, Checking::kSkip, threads);
  EXPECT_TRUE(loaded) << loaded.error().text();
  (*loaded)->fill_random(1);
  return std::move(*loaded);
}
std::vector<std::byte> output(const LoadedProgram& program) {
  const auto& border = program.outputs()[0];
  std::vector<std::byte> bytes(static_cast<std::size_t>(border.elements() * size_of(border.dtype)));
  void* outputs[] = {bytes.data()};
  program.get_outputs(outputs);
  return bytes;
}

TEST(InTurns, ComputeWhatThreadsCompute) {
  for (const char* text : kWorkloads)
    for (const int threads : {1, 2, 3, 7, 64}) {
      const auto together = load(text, threads, Threads::kPool),
                 turning = load(text, threads, Threads::kCaller);
      together->call();
      const InTurns turns = time_in_turns(*turning, threads, 0);
      EXPECT_EQ(output(*turning), output(*together)) << text << ", " << threads << " threads";
      EXPECT_EQ(turns.calls, 5);
      EXPECT_GT(turns.seconds, 0);
      EXPECT_GE(turns.all, turns.seconds);
    }
}

TEST(InTurns, PhasesAddUpToTheCall) {
  const auto program = load(kWorkloads[1], 5, Threads::kCaller);
  const InTurns turns = time_in_turns(*program, 5, 0.01);
  ASSERT_FALSE(turns.phases.empty());
  double slowest = turns.alone, all = turns.alone;
  for (const PhaseTurns& phase : turns.phases) {
    EXPECT_GE(phase.slowest, phase.mean);
    EXPECT_LE(phase.threads, std::min<std::int64_t>(5, phase.parts));
    slowest += phase.slowest;
    all += 5 * phase.mean;
  }
  EXPECT_NEAR(slowest, turns.seconds, 1e-6 * turns.seconds);
  EXPECT_NEAR(all, turns.all, 1e-6 * turns.all);
}

}  // namespace
}  // namespace lathe::api
