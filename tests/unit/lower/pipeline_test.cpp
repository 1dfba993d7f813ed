// Random programs through the passes, one by one and all together, against the interpreter.
#include "compiler/lower/pipeline.h"

#include <cmath>

#include "oracle/flat_eval.h"
#include "unit/interp/random_flat.h"
#include "unit/interp/random_groups.h"
#include "unit/lower/elementwise.h"

namespace lathe::lower {
namespace {

void expect_agreement(const flat::Program& before, const flat::Program& after, std::uint64_t seed,
                      const char* what) {
  Rng rng(seed);
  const auto inputs = testing::random_inputs(rng, before);
  const auto want = interp::eval_flat(before, inputs, {.seed = seed}),
             got = interp::eval_flat(after, inputs, {.seed = seed});
  ASSERT_TRUE(want) << want.error().text();
  ASSERT_TRUE(got) << "seed " << seed << ", " << what << ": " << got.error().text() << "\n"
                   << print(after);
  for (std::size_t t = 0; t < want->size(); ++t) {
    const flat::Border& border = before.outputs[t];
    const auto a = interp::from_storage(border, (*want)[t]),
               b = interp::from_storage(border, (*got)[t]);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
      ASSERT_TRUE(same) << "seed " << seed << ", " << what << ": " << border.name << "[" << i
                        << "] is " << b[i] << ", not " << a[i] << "\n"
                        << print(before) << "\n"
                        << print(after);
    }
  }
}

TEST(Passes, KeepExactPrograms) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const flat::Program program = testing::random_flat(rng, {});
    for (const Pass& pass : passes()) {
      const flat::Program out = pass.run(program, testing::old_x86());
      const Status legal = verify(out);
      ASSERT_TRUE(legal) << "seed " << seed << ", " << pass.name << ": " << legal.error().text();
      expect_agreement(program, out, seed, pass.name);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Passes, Together) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const flat::Program program = testing::random_flat(rng, {});
    const auto out = run_passes(program, seed % 2 == 0 ? testing::old_x86() : testing::new_x86(),
                                {.verify = true});
    ASSERT_TRUE(out) << "seed " << seed << ": " << out.error().text();
    expect_agreement(program, *out, seed, "all");
    if (HasFatalFailure()) return;
  }
}

// Copies of halves go through registers, which promotion widens: nothing is rounded there.
TEST(Passes, KeepWhatTheItemsOfAGroupDo) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const testing::GroupProgram g = testing::random_groups(seed);
    for (const Pass& pass : passes()) {
      const flat::Program out = pass.run(g.program, testing::old_x86());
      const Status legal = verify(out);
      ASSERT_TRUE(legal) << "seed " << seed << ", " << pass.name << ": " << legal.error().text();
    }
    const auto out = run_passes(g.program, testing::old_x86(), {.verify = true});
    ASSERT_TRUE(out) << "seed " << seed << ": " << out.error().text();
    const auto got = interp::eval_flat(*out, g.inputs, {.seed = seed, .aligned_vectors = true});
    ASSERT_TRUE(got) << "seed " << seed << ": " << got.error().text() << "\n" << print(*out);
    for (std::size_t t = 0; t < got->size(); ++t)
      ASSERT_EQ(interp::from_storage(out->outputs[t], (*got)[t]), g.want[t])
          << "seed " << seed << "\n"
          << print(*out);
  }
}

// What rounds differently afterwards, promotion, is done to both.
TEST(Passes, ConversionsAreExact) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const flat::Program promoted =
        promote_halves(testing::random_flat(rng, {.halves = true}), testing::old_x86());
    expect_agreement(promoted, expand_conversions(promoted, testing::old_x86()), seed,
                     "expand_conversions");
    if (HasFatalFailure()) return;
  }
}

// Approximations may tip a cast to an integer, so values are compared function by function
// elsewhere; here: legal programs.
TEST(Passes, MathAndHalvesTogetherAreLegal) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Rng rng(seed);
    const flat::Program program = testing::random_flat(rng, {.math = true, .halves = true});
    const auto out = run_passes(program, testing::old_x86(), {.verify = true});
    ASSERT_TRUE(out) << "seed " << seed << ": " << out.error().text();
    const auto got = interp::eval_flat(*out, testing::random_inputs(rng, *out));
    ASSERT_TRUE(got) << "seed " << seed << ": " << got.error().text();
  }
}

TEST(Pipeline, SkipsReportsAndNames) {
  Rng rng(1);
  const flat::Program program = testing::random_flat(rng, {.math = true});
  std::vector<std::string> ran;
  PassOptions options{.verify = true, .skip = {"simplify"}};
  options.after = [&](const Pass& pass, const flat::Program& p, double seconds) {
    ran.emplace_back(pass.name);
    EXPECT_FALSE(print(p).empty());
    EXPECT_GE(seconds, 0);
    EXPECT_GT(std::string_view(pass.why).size(), 10U);
  };
  ASSERT_TRUE(run_passes(program, testing::old_x86(), options));
  EXPECT_EQ(ran, (std::vector<std::string>{"join_regions", "carry", "promote_halves", "expand_math",
                                           "expand_conversions", "renumber"}));
}

TEST(Pipeline, IsIdempotent) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    const auto once =
        run_passes(testing::random_flat(rng, {.math = true, .halves = true}), testing::old_x86());
    ASSERT_TRUE(once);
    const auto twice = run_passes(*once, testing::old_x86());
    ASSERT_TRUE(twice);
    EXPECT_EQ(hash(*once), hash(*twice)) << "seed " << seed << "\n"
                                         << print(*once) << "\n"
                                         << print(*twice);
  }
}

}  // namespace
}  // namespace lathe::lower
