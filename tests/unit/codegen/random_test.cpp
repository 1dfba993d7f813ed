// Random flat programs: machine code against the interpreter, on every target this machine runs.
#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(Targets, Random, ::testing::ValuesIn(testing::runnable_targets()),
                         [](const auto& info) { return testing::test_name(info.param); });

}  // namespace
}  // namespace lathe
