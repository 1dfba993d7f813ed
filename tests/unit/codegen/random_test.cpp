// Random flat programs: machine code against the interpreter, on every target this machine runs.
#include <gtest/gtest.h>

#include "compiler/lower/pipeline.h"
#include "unit/codegen/harness.h"
#include "unit/interp/random_flat.h"

namespace lathe {
namespace {

void check_seed(std::uint64_t seed, const testing::RandomFlatOptions& options, const Target& target,
                double ulps) {
  Rng rng(seed);
  const flat::Program p = testing::random_flat(rng, options);
  const auto inputs = testing::random_inputs(rng, p);
  const auto want = interp::eval_flat(p, inputs);
  ASSERT_TRUE(want) << "seed " << seed << ": " << want.error().text();
  const auto module = testing::compile(p, target);
  ASSERT_TRUE(module) << "seed " << seed << " " << target.text() << ": " << module.error().text();
  const auto got = testing::run_module(**module, p, inputs);
  ASSERT_TRUE(got) << "seed " << seed << " " << target.text() << ": " << got.error().text();
  const std::string wrong = testing::difference(p, *want, *got, ulps);
  ASSERT_EQ(wrong, "") << "seed " << seed << " " << target.text() << "\n" << print(p);
}

class Random : public ::testing::TestWithParam<Target> {};

TEST_P(Random, PlainTypes) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) check_seed(seed, {}, GetParam(), 4);
}

TEST_P(Random, Halves) {
  for (std::uint64_t seed = 100; seed < 108; ++seed)
    check_seed(seed, {.halves = true}, GetParam(), 4);
}

// Elementary functions, f16 and bf16 through lowering's passes: nothing is left that would call a
// library. Halves are compared with what the passes made of the program, which rounds less often
// than the original.
TEST_P(Random, PassesLeaveNothingToALibrary) {
  const Target& target = GetParam();
  for (std::uint64_t seed = 200; seed < 206; ++seed) {
    Rng rng(seed);
    const flat::Program original =
        testing::random_flat(rng, {.math = true, .halves = seed % 2 == 0});
    const auto inputs = testing::random_inputs(rng, original);
    const auto p = lower::run_passes(original, target);
    ASSERT_TRUE(p) << "seed " << seed << ": " << p.error().text();
    const auto want = interp::eval_flat(*p, inputs);
    ASSERT_TRUE(want) << "seed " << seed << ": " << want.error().text();
    const auto module = testing::compile(*p, target);
    ASSERT_TRUE(module) << "seed " << seed << " " << target.text() << ": " << module.error().text();
    const auto got = testing::run_module(**module, *p, inputs);
    ASSERT_TRUE(got) << "seed " << seed << " " << target.text() << ": " << got.error().text();
    const std::string wrong = testing::difference(*p, *want, *got, 64);
    ASSERT_EQ(wrong, "") << "seed " << seed << " " << target.text() << "\n" << print(*p);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Random, ::testing::ValuesIn(testing::runnable_targets()),
                         [](const auto& info) { return testing::test_name(info.param); });

}  // namespace
}  // namespace lathe
