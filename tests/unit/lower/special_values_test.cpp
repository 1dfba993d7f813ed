// NaN, infinities, zeros of both signs, the smallest and the largest numbers in the inputs:
// whatever the schedule, what the expression says, through every pass.

#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/flat_eval.h"
#include "support/random_trace.h"
#include "support/random_workload.h"
#include "support/special_values.h"
#include "unit/lower/elementwise.h"
#include "unit/lower/rounds.h"

namespace lathe {
namespace {

std::string difference(const std::vector<interp::Tensor>& want, const flat::Program& flat,
                       const std::vector<interp::Tensor>& inputs) {
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(flat.inputs[i], inputs[i].values));
  const auto got = interp::eval_flat(flat, stored);
  if (!got) return got.error().text();
  for (std::size_t o = 0; o < want.size(); ++o) {
    const std::string wrong =
        interp::compare(want[o], interp::from_storage(flat.outputs[o], (*got)[o]));
    if (!wrong.empty()) return flat.outputs[o].name + ": " + wrong;
  }
  return "";
}

TEST(SpecialValues, AreTreatedAlikeUnderEverySchedule) {
  std::uint64_t lowered = 0, known = 0, elements = 0;
  for (std::uint64_t seed = 1; seed <= rounds(500) && !::testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 3'000});
    const RandomSchedule s = random_schedule(workload, rng);
    const auto inputs = special_inputs(workload, rng);
    const auto want = interp::evaluate(workload, inputs);
    ASSERT_TRUE(want.has_value()) << want.error().text();
    for (const interp::Tensor& tensor : *want)
      for (const double bound : tensor.bounds) ++elements, known += bound < HUGE_VAL;
    const Target target = seed % 2 == 0 ? testing::old_x86() : testing::new_x86();
    const auto naive = lower::lower(ir::SizedNest(te::naive_nest(workload), {}), target);
    ASSERT_TRUE(naive.has_value()) << naive.error().text();
    EXPECT_EQ(difference(*want, *naive, inputs), "") << "naive, seed " << seed << "\n"
                                                     << te::print_workload(workload);
    const auto scheduled = lower::lower(ir::SizedNest(s.nest, s.knobs), target);
    if (!scheduled) continue;
    ++lowered;
    EXPECT_EQ(difference(*want, *scheduled, inputs), "") << "seed " << seed << "\n"
                                                         << describe(workload, s);
  }
  EXPECT_GE(lowered * 2, rounds(500));
  EXPECT_GE(known * 2, elements) << "of most elements something is known";
}

}  // namespace
}  // namespace lathe
