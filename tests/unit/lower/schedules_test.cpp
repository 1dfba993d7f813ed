// Random programs under random legal schedules, lowered through every pass, against the evaluation
// of the expression and of the nest. What lowering may refuse it must refuse as the schedule's
// fault, never get wrong.

#include <gtest/gtest.h>

#include "compiler/analysis/essence.h"
#include "compiler/lower/expand/expand.h"
#include "compiler/lower/pipeline.h"
#include "oracle/nest_eval.h"
#include "support/check_flat.h"
#include "support/random_trace.h"
#include "support/random_workload.h"
#include "unit/lower/elementwise.h"
#include "unit/lower/rounds.h"

namespace lathe {
namespace {

// Some programs may have little code at edges, or none.
std::int64_t edge_accesses(std::uint64_t seed) {
  constexpr std::int64_t kMost[] = {4'000, 0, 20, 4'000, 3};
  return kMost[seed % std::size(kMost)];
}

// True if it was lowered.
bool check(std::uint64_t seed, bool open_sizes, double recurrences) {
  Rng rng(seed);
  const te::Workload workload = random_workload(
      rng, {.dtypes = seed % 5 == 0, .max_iterations = 4'000, .recurrences = recurrences});
  const RandomSchedule s = random_schedule(workload, rng, {.open_sizes = open_sizes});
  const ir::SizedNest sized(s.nest, s.knobs);
  const Target target = seed % 2 == 0 ? testing::old_x86() : testing::new_x86();
  const auto nest = interp::evaluate(sized, interp::random_inputs(workload, rng));
  EXPECT_TRUE(nest) << "seed " << seed << ": " << nest.error().text() << "\n"
                    << describe(workload, s);
  const ir::Nest essential = analysis::essential(sized);
  const lower::Limits limits{.max_accesses = 20'000, .max_edge_accesses = edge_accesses(seed / 2)};
  const auto flat = lower::expand(ir::SizedNest(essential, {}), limits);
  if (!flat) {
    EXPECT_EQ(flat.error().kind, ErrorKind::kIllegalSchedule)
        << "seed " << seed << ": " << flat.error().text();
    return false;
  }
  const auto passed = lower::run_passes(*flat, target, {.verify = true});
  EXPECT_TRUE(passed) << "seed " << seed << ": " << passed.error().text();
  if (!passed) return false;
  const std::string wrong = check_flat(workload, *passed, seed);
  EXPECT_EQ(wrong, "") << "seed " << seed << "\n" << describe(workload, s);
  if (wrong.empty()) return true;
  ADD_FAILURE() << "before the passes: " << check_flat(workload, *flat, seed) << "\n"
                << flat::print(*flat);
  return true;
}

void check_all(std::uint64_t first, bool open_sizes, double recurrences = 0.15) {
  std::uint64_t lowered = 0;
  for (std::uint64_t seed = first; seed < first + rounds(1'000) && !::testing::Test::HasFailure();
       ++seed)
    lowered += check(seed, open_sizes, recurrences);
  EXPECT_GE(lowered * 2, rounds(1'000)) << "most schedules should lower";
}

TEST(LoweredSchedules, WithKnownSizes) { check_all(0, false); }
TEST(LoweredSchedules, WithOpenSizes) { check_all(1'000'000, true); }
TEST(LoweredSchedules, OfRecurrences) { check_all(2'000'000, false, 1); }

}  // namespace
}  // namespace lathe
