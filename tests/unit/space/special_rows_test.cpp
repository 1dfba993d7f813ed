// NaN, infinities, zeros of both signs, the smallest and the largest numbers in rows that go
// through several reductions together, also in parts: what the expression says.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/flat_eval.h"
#include "support/special_values.h"
#include "support/targets.h"
#include "tuner/space/space.h"

namespace lathe::space {
namespace {

constexpr double kErrors = 4;  // exponentials of parts are rounded once more

std::string difference(const te::Workload& workload, const flat::Program& flat,
                       const std::vector<interp::Tensor>& inputs) {
  const auto want = interp::evaluate(workload, inputs);
  if (!want) return want.error().text();
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(flat.inputs[i], inputs[i].values));
  const auto got = interp::eval_flat(flat, stored);
  if (!got) return got.error().text();
  for (std::size_t o = 0; o < want->size(); ++o) {
    const std::string wrong =
        interp::compare((*want)[o], interp::from_storage(flat.outputs[o], (*got)[o]), kErrors);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

// All of some rows is -inf, of others one element is not.
void empty_rows(interp::Tensor& x, Rng& rng) {
  const auto columns = static_cast<std::size_t>(x.shape.back());
  for (std::size_t row = 0; row < x.values.size() / columns; ++row) {
    if (rng.chance(0.5)) continue;
    const auto first = x.values.begin() + static_cast<std::ptrdiff_t>(row * columns);
    std::fill_n(first, columns, -HUGE_VAL);
    if (rng.chance(0.5)) first[static_cast<std::ptrdiff_t>(rng.below(columns))] = -200;
  }
}

class SpecialRows : public ::testing::TestWithParam<const char*> {};
TEST_P(SpecialRows, AreTreatedAlike) {
  const auto workload = te::parse_workload(GetParam());
  ASSERT_TRUE(workload) << workload.error().text();
  const Target target = test::avx512(2);
  const auto space = derive_space(*workload, target, Flavour::kWide);
  ASSERT_TRUE(space) << space.error().text();
  const std::vector<Knob>& knobs = (*space)->knob_list();
  const auto rows = std::ranges::find(knobs, "rows", &Knob::name);
  ASSERT_NE(rows, knobs.end());
  for (std::size_t v = 0; v < rows->values.size(); ++v) {
    Config config(knobs.size(), 0);
    config[static_cast<std::size_t>(rows - knobs.begin())] = static_cast<std::uint16_t>(v);
    if (!(*space)->valid(config)) continue;
    ir::Nest nest = te::naive_nest(*workload);
    ASSERT_TRUE(schedule::apply(nest, (*space)->trace(config)));
    const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
    ASSERT_TRUE(flat) << flat.error().text();
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Rng rng(seed);
      auto inputs = special_inputs(*workload, rng, seed % 3 != 0);
      if (seed % 4 == 3) {
        inputs = interp::random_inputs(*workload, rng);
        empty_rows(inputs[0], rng);
      }
      EXPECT_EQ(difference(*workload, *flat, inputs), "")
          << (*space)->describe(config) << ", seed " << seed;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rows, SpecialRows,
    ::testing::Values(
        "X: f32[5,601]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
        "X: f32[5,601]; L[i] = max(k) X[i,k]; M[i] = select(abs(L[i]) < inf, L[i], 0)\n"
        "Y[i] = M[i] + log(sum(k) exp(X[i,k] - M[i]))",
        "X: f32[5,601]; M[i] = max(k) X[i,k]\n"
        "Y[i] = min(k) select(X[i,k] == M[i] || X[i,k] != X[i,k], k, 601)",
        "X: f16[5,601]; M[i] = min(k) X[i,k]; Y[i] = min(k) select(X[i,k] == M[i], k, 601)"));

// Few different numbers, so that most extremes are there several times, and NaN in some rows.
void make_alike(interp::Tensor& x, Rng& rng) {
  const std::int64_t most = rng.between(1, 40);
  for (double& value : x.values) value = static_cast<double>(rng.between(0, most));
  if (rng.chance(0.5))
    for (int i = 0; i < 4; ++i) x.values[rng.below(x.values.size())] = std::nan("");
}

bool locates(const schedule::Trace& trace) {
  return std::ranges::any_of(trace, [](const schedule::Step& step) {
    return std::holds_alternative<schedule::Locate>(step);
  });
}

class SpecialPlaces : public ::testing::TestWithParam<const char*> {};
TEST_P(SpecialPlaces, AreFoundInOnePart) {
  for (const int columns : {256, 257, 509, 601, 1000, 1031, 4099})
    for (const Target& target : {test::avx2(1), test::avx512(2)}) {
      const std::string text =
          fmt::format(fmt::runtime(GetParam()), fmt::arg("n", columns), fmt::arg("rows", 5));
      SCOPED_TRACE(text + " on " + target.text());
      const auto workload = te::parse_workload(text);
      ASSERT_TRUE(workload) << workload.error().text();
      const auto space = derive_space(*workload, target, Flavour::kDefault);
      ASSERT_TRUE(space) << space.error().text();
      const schedule::Trace trace = (*space)->trace((*space)->default_config());
      EXPECT_TRUE(locates(trace) || columns < 512);
      ir::Nest nest = te::naive_nest(*workload);
      ASSERT_TRUE(schedule::apply(nest, trace));
      const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
      ASSERT_TRUE(flat) << flat.error().text();
      for (std::uint64_t seed = 0; seed < 9; ++seed) {
        Rng rng(seed);
        auto inputs = special_inputs(*workload, rng, seed % 3 != 0);
        if (seed % 3 == 2) make_alike(inputs[0], rng);
        EXPECT_EQ(difference(*workload, *flat, inputs), "") << "seed " << seed;
      }
    }
}
INSTANTIATE_TEST_SUITE_P(
    Rows, SpecialPlaces,
    ::testing::Values(
        "X: f32[{rows},{n}]; M[i] = max(k) X[i,k]\n"
        "Y[i] = min(k) select(X[i,k] == M[i] || X[i,k] != X[i,k], k, {n})",
        "X: f32[{rows},{n}]; M[i] = min(k) X[i,k]\n"
        "Y[i] = max(k) select(X[i,k] == M[i] || X[i,k] != X[i,k], k, 0)",
        "X: f32[{n}]; M[o:1] = max(k) X[k]\n"
        "Y[o:1] = min(k) select(X[k] == M[o] || X[k] != X[k], k, {n})",
        "X: f16[2,3,{n}]; M[h,i] = max(k) X[h,i,k]\n"
        "Y[h,i] = min(k) select(X[h,i,k] == M[h,i] || X[h,i,k] != X[h,i,k], k, {n})"));

}  // namespace
}  // namespace lathe::space
