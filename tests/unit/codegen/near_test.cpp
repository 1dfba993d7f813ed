// Vectors whose elements lie near each other in an order that the code knows: the same results as
// element by element, and nothing read that the tensor does not have.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/flat_eval.h"
#include "unit/codegen/harness.h"

namespace lathe {
namespace {

using schedule::Annotate;
using schedule::Split;
using testing::Place;

// What an index is made of: positions multiplied, divided, moved, mirrored and clamped.
std::string index_of(Rng& rng, int depth) {
  if (depth == 0) return "i";
  const std::string inner = index_of(rng, depth - 1);
  const auto number = [&](std::uint64_t most) { return 1 + rng.below(most); };
  switch (rng.below(8)) {
    case 0: return fmt::format("({})/{}", inner, number(4));
    case 1: return fmt::format("({})%{}", inner, number(5));
    case 2: return fmt::format("{}*({})", number(3), inner);
    case 3: return fmt::format("({} + {})", inner, number(9));
    case 4: return fmt::format("({} - {})", inner, number(9));
    case 5: return fmt::format("({} + {})", inner, index_of(rng, depth - 1));
    case 6: return fmt::format("max({}, {})", inner, number(5));
    default: return fmt::format("min({}, {})", inner, number(60));
  }
}

flat::Program program_of(Rng& rng, const Target& target, std::string& text) {
  static constexpr const char* kTypes[] = {"f32", "f64", "f16", "i8", "i32", "bool"};
  const std::uint64_t size = 1 + rng.below(70), rows = 1 + rng.below(3), count = 1 + rng.below(90);
  const std::string column = fmt::format("min(max({}, 0), {})", index_of(rng, 3), size - 1);
  text = fmt::format("X: {}[{},{}]; Y[r,i:{}] = X[r,{}]", kTypes[rng.below(6)], rows, size, count,
                     column);
  const auto lanes = std::int64_t{1} << (1 + rng.below(5));
  const ir::Tail tail = rng.below(2) == 0 ? ir::Tail::kPeel : ir::Tail::kMask;
  ir::Nest nest = te::naive_nest(*te::parse_workload(text));
  const schedule::Trace trace = {Split{"Y.i", lanes, "io", "il", tail},
                                 Annotate{.loop = "il", .kind = ir::LoopKind::kVectorized}};
  const auto applied = schedule::apply(nest, trace);
  EXPECT_TRUE(applied) << text << ": " << applied.error().text();
  auto program = lower::lower(ir::SizedNest(nest, {}), target);
  EXPECT_TRUE(program) << text << ": " << program.error().text();
  return *program;
}

TEST(NearLoads, AreTheElementsOneByOne) {
  const Target target = testing::resolved("cpu:host");
  const std::uint64_t rounds = std::getenv("LATHE_TEST_LONG") != nullptr ? 5000 : 200;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    Rng rng(seed);
    std::string text;
    const flat::Program program = program_of(rng, target, text);
    std::vector<double> values(static_cast<std::size_t>(program.inputs[0].elements()));
    for (double& value : values) value = static_cast<double>(rng.below(2 + seed % 100));
    const std::vector<interp::Bytes> inputs = {interp::to_storage(program.inputs[0], values)};
    const auto want = interp::eval_flat(program, inputs);
    ASSERT_TRUE(want) << text << ": " << want.error().text();
    const auto module = testing::compile(program, target);
    ASSERT_TRUE(module) << text << ": " << module.error().text();
    for (const Place place : {Place::kFirst, Place::kLast}) {
      const auto got = testing::run_module(**module, program, inputs, place);
      ASSERT_TRUE(got) << "seed " << seed << ", " << text << ": " << got.error().text();
      EXPECT_EQ((*got)[0], (*want)[0]) << "seed " << seed << ", " << text;
    }
  }
}

}  // namespace
}  // namespace lathe
