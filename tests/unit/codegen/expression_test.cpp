// From index expressions to machine code: the naive nest and a random schedule of random
// expressions, lowered, against the oracle, also on inputs that are not like most numbers.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "support/random_trace.h"
#include "support/random_workload.h"
#include "support/special_values.h"
#include "unit/codegen/harness.h"

namespace lathe {
namespace {

std::string difference(const flat::Program& p, const Target& target,
                       const std::vector<interp::Tensor>& inputs,
                       const std::vector<interp::Tensor>& want) {
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(p.inputs[i], inputs[i].values));
  const auto module = testing::compile(p, target);
  if (!module) return module.error().text();
  const auto got = testing::run_module(**module, p, stored);
  if (!got) return got.error().text();
  return testing::difference(p, want, *got);
}

void check(std::uint64_t seed, bool special) {
  const auto targets = testing::runnable_targets();
  Rng rng(seed);
  const te::Workload workload =
      random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = special ? 10'000 : 30'000});
  const Target& target = targets[seed % targets.size()];
  const auto inputs =
      special ? special_inputs(workload, rng) : interp::random_inputs(workload, rng);
  const auto want = interp::evaluate(workload, inputs);
  ASSERT_TRUE(want.has_value()) << want.error().text();
  const auto naive = lower::lower(ir::SizedNest(te::naive_nest(workload), {}), target);
  ASSERT_TRUE(naive.has_value()) << naive.error().text();
  ASSERT_EQ(difference(*naive, target, inputs, *want), "")
      << "seed " << seed << " " << target.text() << "\n"
      << te::print_workload(workload);
  const RandomSchedule s = random_schedule(workload, rng);
  const auto scheduled = lower::lower(ir::SizedNest(s.nest, s.knobs), target);
  if (!scheduled) return;
  ASSERT_EQ(difference(*scheduled, target, inputs, *want), "")
      << "seed " << seed << " " << target.text() << "\n"
      << describe(workload, s);
}

TEST(Expression, RandomWorkloadsOnEveryTarget) {
  for (std::uint64_t seed = 1; seed <= 40 && !HasFatalFailure(); ++seed) check(seed, false);
}

TEST(Expression, SpecialValuesOnEveryTarget) {
  for (std::uint64_t seed = 1001; seed <= 1040 && !HasFatalFailure(); ++seed) check(seed, true);
}

}  // namespace
}  // namespace lathe
