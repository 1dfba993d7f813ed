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
  const te::Workload workload = random_workload(
      rng,
      {.dtypes = seed % 3 == 0, .max_iterations = special ? 10'000 : 30'000, .recurrences = 0.1});
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

// Whatever callers put into index tensors, only elements of the tensor are read: run_module() has
// pages around it that nothing may touch.
TEST(Expression, IndicesThatBreakTheirPromiseStayInside) {
  const std::string declared = "T: f32[5,9]; I: i32[7] in 0..4; J: i64[7] in 0..2\n";
  for (const char* stage : {"Y[n,j] = T[I[n],j]", "Y[j,n] = T[I[n],j]", "Y[n] = T[I[n],J[n]]",
                            "Y[n,j:7] = T[I[n],j + J[n]]", "Y[j:7] = sum(n) T[I[n],j + J[n]]",
                            "Y[n,j:7] = T[4 - I[n],2*J[n] + j/2]", "Y[n] = T[I[n],J[n] else 3]"}) {
    const auto workload = te::parse_workload(declared + stage + "\nZ[n] = I[n] + i32(J[n])");
    ASSERT_TRUE(workload.has_value()) << workload.error().text();
    for (const Target& target : testing::runnable_targets()) {
      Rng rng(1);
      auto inputs = interp::random_inputs(*workload, rng);
      for (std::size_t i = 1; i < inputs.size(); ++i)
        for (double& value : inputs[i].values)
          value = rng.chance(0.5) ? -0x1p31 : rng.chance(0.5) ? 0x1p31 - 1 : 5;
      const RandomSchedule s = random_schedule(*workload, rng);
      for (const auto& program :
           {lower::lower(ir::SizedNest(te::naive_nest(*workload), {}), target),
            lower::lower(ir::SizedNest(s.nest, s.knobs), target)}) {
        if (!program) continue;
        std::vector<interp::Bytes> stored;
        for (std::size_t i = 0; i < inputs.size(); ++i)
          stored.push_back(interp::to_storage(program->inputs[i], inputs[i].values));
        const auto module = testing::compile(*program, target);
        ASSERT_TRUE(module.has_value()) << module.error().text();
        for (const auto place : {testing::Place::kFirst, testing::Place::kLast}) {
          const auto got = testing::run_module(**module, *program, stored, place);
          ASSERT_TRUE(got.has_value()) << stage << ": " << got.error().text();
        }
      }
    }
  }
}

TEST(Expression, RandomWorkloadsOnEveryTarget) {
  for (std::uint64_t seed = 1; seed <= 40 && !HasFatalFailure(); ++seed) check(seed, false);
}

TEST(Expression, SpecialValuesOnEveryTarget) {
  for (std::uint64_t seed = 1001; seed <= 1040 && !HasFatalFailure(); ++seed) check(seed, true);
}

}  // namespace
}  // namespace lathe
