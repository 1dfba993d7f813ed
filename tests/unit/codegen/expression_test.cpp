// From index expressions to machine code: the naive nest of random expressions, lowered, against
// the oracle.
#include <gtest/gtest.h>

#include "compiler/interp/te_eval.h"
#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/random_program.h"
#include "unit/codegen/harness.h"

namespace lathe {
namespace {

std::string difference(const te::Program& program, const Target& target, std::uint64_t seed) {
  const ir::Nest nest = te::naive_nest(program);
  const auto p = lower::lower(ir::SizedNest(nest, {}), target);
  if (!p) return p.error().text();
  Rng rng(seed);
  const auto inputs = interp::random_inputs(program, rng);
  const auto want = interp::evaluate(program, inputs);
  if (!want) return want.error().text();
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(p->inputs[i], inputs[i].values));
  const auto module = testing::compile(*p, target);
  if (!module) return module.error().text();
  const auto got = testing::run_module(**module, *p, stored);
  if (!got) return got.error().text();
  for (std::size_t o = 0; o < want->size(); ++o) {
    const std::string wrong =
        interp::compare((*want)[o], interp::from_storage(p->outputs[o], (*got)[o]));
    if (!wrong.empty()) return p->outputs[o].name + ": " + wrong;
  }
  return "";
}

TEST(Expression, RandomProgramsOnEveryTarget) {
  const auto targets = testing::runnable_targets();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    const te::Program program = random_program(rng, {.dtypes = seed % 3 == 0});
    const Target& target = targets[seed % targets.size()];
    ASSERT_EQ(difference(program, target, seed), "")
        << "seed " << seed << " " << target.text() << "\n"
        << te::print_program(program);
  }
}

}  // namespace
}  // namespace lathe
