// Random workloads put together, up to five deep, as machine code against the evaluation of the
// expression, at every level of numerics, with the default schedule and with random ones.
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/te/parse.h"
#include "support/composed_workload.h"
#include "unit/space/built_program.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

void check(std::uint64_t seed) {
  constexpr te::Numerics kLevels[] = {te::Numerics::kComponentwise, te::Numerics::kLocal,
                                      te::Numerics::kNormwise};
  Rng rng(seed);
  te::Workload workload =
      composed_workload(rng, {.dtypes = seed % 2 == 0, .max_iterations = 5'000});
  workload.contract.numerics = kLevels[seed % std::size(kLevels)];
  const auto targets = testing::runnable_targets();
  const Target& target = targets[seed / 2 % targets.size()];
  SCOPED_TRACE(fmt::format("seed {} {}\n{}", seed, target.text(), te::print_workload(workload)));
  try {
    const auto space = derive_space(workload, target, Flavour::kDefault);
    ASSERT_TRUE(space) << space.error().text();
    const Candidate candidate(workload, rng);
    const Config config = rng.chance(0.5) ? (*space)->default_config() : (*space)->random(rng);
    ASSERT_EQ(candidate.what_is_wrong(**space, config, target), "") << (*space)->describe(config);
  } catch (const std::exception& broken) {
    FAIL() << broken.what();
  }
}

TEST(ComposedPrograms, ComputeWhatTheExpressionSays) {
  const bool many = std::getenv("LATHE_TEST_LONG") != nullptr;
  const char* given = std::getenv("LATHE_RANDOM_ROUNDS");
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0), usual = many ? 20'000 : 500,
                      end = first + (given ? std::strtoull(given, nullptr, 10) : usual);
  for (std::uint64_t seed = first; seed < end && !HasFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace lathe::space
