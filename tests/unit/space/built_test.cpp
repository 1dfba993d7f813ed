// Random programs with the schedules that their spaces offer, as machine code between guard pages,
// against the evaluation of the expression: the default, the one of many that the analytic model
// likes best, and random ones.
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/random_workload.h"
#include "tuner/space/space.h"
#include "unit/codegen/harness.h"
#include "unit/space/built_program.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

void check(std::uint64_t seed, int configurations) {
  Rng rng(seed);
  te::Workload workload = random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 20'000});
  workload.contract.free_layout = rng.chance(0.3);
  const auto targets = testing::runnable_targets();
  const Target& target = targets[seed % targets.size()];
  SCOPED_TRACE(fmt::format("seed {} {}\n{}", seed, target.text(), te::print_workload(workload)));
  try {
    const auto space = derive_space(workload, target, Flavour::kDefault);
    ASSERT_TRUE(space) << space.error().text();
    const Candidate candidate(workload, rng);
    for (int i = 0; i < configurations; ++i) {
      const Config config = i == 0   ? (*space)->default_config()
                            : i == 1 ? predicted(**space, target, rng)
                                     : (*space)->random(rng);
      ASSERT_EQ(candidate.what_is_wrong(**space, config, target), "") << (*space)->describe(config);
    }
  } catch (const std::exception& broken) {
    FAIL() << broken.what();
  }
}

// Terms that are all alike are the worst: every rounding errs in the same direction.
void check_long_sum(const std::string& text, double each, double terms) {
  SCOPED_TRACE(text);
  const auto workload = te::parse_workload(text);
  ASSERT_TRUE(workload) << workload.error().text();
  const Target target = testing::resolved("cpu:host");
  const auto space = derive_space(*workload, target, Flavour::kDefault);
  ASSERT_TRUE(space) << space.error().text();
  std::vector<interp::Tensor> inputs;
  for (const int t : workload->inputs()) {
    const te::Tensor& tensor = workload->tensors[t];
    std::int64_t count = 1;
    for (const std::int64_t n : tensor.shape) count *= n;
    inputs.push_back({tensor.dtype,
                      tensor.shape,
                      std::vector<double>(static_cast<std::size_t>(count), each),
                      {}});
  }
  const double sum = terms * (inputs.size() == 2 ? each * each : each);
  Rng rng(3);
  for (int i = 0; i < 3; ++i) {
    const Config config = i == 0 ? (*space)->default_config() : (*space)->random(rng);
    flat::Program flat;
    const auto got = run_built(**space, config, target, inputs, flat);
    ASSERT_TRUE(got) << got.error().text();
    for (const double element : interp::from_storage(flat.outputs[0], (*got)[0]))
      ASSERT_NEAR(element / sum, 1, 1e-6) << (*space)->describe(config);
  }
}

TEST(BuiltPrograms, LongSumsOfTermsThatAreAlikeStayExact) {
  const double tenth = 0.1f;
  check_long_sum("X: f32[10000000]; S[one:1] = sum(i) X[i]", tenth, 1e7);
  check_long_sum("X: f32[3000001,3]; S[j] = sum(i) X[i,j]", tenth, 3000001);
  check_long_sum("X: f32[1009,4001]; S[one:1] = sum(i,j) X[i,j]", tenth, 1009.0 * 4001);
  check_long_sum("X: f32[2,2000003]; S[i] = sum(j) X[i,j]", tenth, 2000003);
  check_long_sum("X: f32[2000003]; Y: f32[2000003]; S[one:1] = sum(i) X[i] * Y[i]", tenth, 2000003);
}

TEST(BuiltPrograms, ComputeWhatTheExpressionSays) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0),
                      end = first + asked("LATHE_RANDOM_ROUNDS", 24);
  const auto configurations = static_cast<int>(asked("LATHE_RANDOM_CONFIGS", 4));
  for (std::uint64_t seed = first; seed < end && !HasFailure(); ++seed) check(seed, configurations);
}

}  // namespace
}  // namespace lathe::space
