// Random programs under random legal schedules, against a count of every iteration.
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/lower/expand/expand.h"
#include "compiler/lower/pipeline.h"
#include "support/random_trace.h"
#include "support/random_workload.h"
#include "support/sanitized.h"
#include "support/targets.h"
#include "unit/sharing/compare.h"

namespace lathe::sharing {
namespace {

std::uint64_t rounds() {
  const char* asked = std::getenv("LATHE_RANDOM_ROUNDS");
  return asked ? std::strtoull(asked, nullptr, 10) : test::kSanitized ? 40 : 400;
}

TEST(Sharing, OfRandomSchedulesIsTheCountOfAllIterations) {
  std::uint64_t shared = 0, copied = 0;
  for (std::uint64_t seed = 0; seed < rounds() && !HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 5 == 0, .max_iterations = 4'000});
    // The count of all iterations knows no data, which places of lookups come from.
    if (std::ranges::any_of(workload.stages, [](const te::Stage& stage) {
          return !ir::lookups_of(stage.body).empty();
        }))
      continue;
    const RandomSchedule s = random_schedule(workload, rng);
    const auto flat = lower::expand(ir::SizedNest(s.nest, s.knobs), {.max_accesses = 20'000});
    if (!flat) continue;
    const Target target = seed % 2 == 0 ? test::avx512(2) : test::sse(2);
    const auto passed = lower::run_passes(*flat, target, {});
    ASSERT_TRUE(passed) << passed.error().text();
    compare(*passed, {1, 3, 64, 1024}, target.as_cpu().vector_bits / 8);
    const auto told = sharing_of(*passed, 3);
    ASSERT_TRUE(told);
    for (const KernelWork& kernel : told->kernels) {
      shared += !kernel.phases.empty();
      for (const Phase& phase : kernel.phases) copied += phase.repeats.copied_bytes > 0;
    }
    if (HasFailure())
      ADD_FAILURE() << "seed " << seed << "\n"
                    << describe(workload, s) << "\n"
                    << flat::print(*passed);
  }
  if (test::kSanitized) return;  // these are too few to say so
  EXPECT_GT(shared, rounds() / 8);
  EXPECT_GT(copied, rounds() / 20);
}

}  // namespace
}  // namespace lathe::sharing
