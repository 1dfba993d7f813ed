// What single operators mean where ONNX's own tests do not tell: results that are known.
#include <cmath>

#include <gtest/gtest.h>

#include "graph/import/import.h"
#include "support/graph_run.h"
#include "support/onnx_writer.h"

namespace lathe::graph {
namespace {

using test::attribute;
using test::node;
using test::tensor;
using test::value_info;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// The result of a node of the input "x", which has these elements, and of what is known.
Doubles result(const test::Message& one, const Ints& shape, const Doubles& x,
               const std::vector<test::Message>& known) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  const test::ModelParts parts = {{one}, known, {value_info("x", sizes)}, {value_info("y", {"1"})}};
  const auto made = import(*onnx::parse_model(test::model(parts), ""));
  EXPECT_TRUE(made) << made.error().text();
  if (!made || !made->unsupported.empty()) return {};
  return (*test::run(made->graph, {{"x", x}}))[0];
}

// A start before the first element is moved there; Python would leave nothing.
TEST(Meanings, ASliceGoesBackFromTheFirstElement) {
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    return result(node("Slice", {"x", "from", "to", "axes", "step"}, {"y"}), {4}, {1, 2, 3, 4},
                  {tensor("from", {1}, Ints{start}), tensor("to", {1}, Ints{end}),
                   tensor("axes", {1}, Ints{0}), tensor("step", {1}, Ints{step})});
  };
  EXPECT_EQ(slice(-5, -100, -2), (Doubles{1}));
  EXPECT_EQ(slice(-100, -100, -1), (Doubles{1}));
  EXPECT_EQ(slice(100, -100, -3), (Doubles{4, 1}));
  EXPECT_EQ(slice(-100, 2, 1), (Doubles{1, 2}));
}

TEST(Meanings, WhatIsGatheredAtAKnownPlaceIsASlice) {
  const auto gathered = [](std::int64_t at, std::int64_t axis, const Ints& dims) {
    return result(node("Gather", {"x", "at"}, {"y"}, {attribute("axis", axis)}), {2, 3},
                  {1, 2, 3, 4, 5, 6}, {tensor("at", dims, Ints{at})});
  };
  EXPECT_EQ(gathered(1, 0, {}), (Doubles{4, 5, 6}));
  EXPECT_EQ(gathered(-2, 0, {1}), (Doubles{1, 2, 3}));
  EXPECT_EQ(gathered(-1, 1, {}), (Doubles{3, 6}));
  EXPECT_EQ(gathered(0, -1, {1, 1}), (Doubles{1, 4}));
}

// In f32 0.7 / 0.1 is 7, and 0.7 is less than seven times 0.1.
TEST(Meanings, TheRemainderOfRealsIsLessThanTheDivisor) {
  const Doubles x = {0.7F, -0.7F, 0.3F, 0.9F, 5.0F, 1e8F};
  const Doubles got = result(node("Mod", {"x", "by"}, {"y"}, {attribute("fmod", 1)}), {6}, x,
                             {tensor("by", {1}, Floats{0.1F})});
  ASSERT_EQ(got.size(), x.size());
  for (std::size_t e = 0; e < x.size(); ++e)
    EXPECT_NEAR(got[e], std::fmod(x[e], static_cast<double>(0.1F)), 1e-8) << x[e];
}

TEST(Meanings, TheRemainderOfDoublesIsExact) {
  Doubles x = {0.7, -0.7, 0.3, 1e15, 12345.678, -1e9, 6e300, 5e-324, 0, 0.1};
  const Doubles by = {0.1, 0.1, -0.1, 0.3, 1e-3, 7.7, 1e299, 3e-310, 2, 5};
  const test::Message doubles = [&] {
    test::Message out;
    out.number(1, std::ssize(by)).number(2, 11).text(8, "by");
    return out.text(9, {reinterpret_cast<const char*>(by.data()), by.size() * sizeof(double)});
  }();
  const test::ModelParts parts = {{node("Mod", {"x", "by"}, {"y"}, {attribute("fmod", 1)})},
                                  {doubles},
                                  {value_info("x", {std::to_string(by.size())}, 11)},
                                  {value_info("y", {"1"}, 11)}};
  const auto made = import(*onnx::parse_model(test::model(parts), ""));
  ASSERT_TRUE(made) << made.error().text();
  const Doubles got = (*test::run(made->graph, {{"x", x}}))[0];
  ASSERT_EQ(got.size(), x.size());
  for (std::size_t e = 0; e < x.size(); ++e)
    EXPECT_EQ(got[e], std::fmod(x[e], by[e])) << x[e] << " by " << by[e];
}

TEST(Meanings, InverseFunctions) {
  Doubles x;
  for (int k = -40; k <= 40; ++k) x.push_back(static_cast<float>(k) / 40);
  const auto check = [&](const char* op, const Doubles& at, double (*want)(double)) {
    const Doubles got =
        result(node(op, {"x"}, {"y"}), {static_cast<std::int64_t>(at.size())}, at, {});
    ASSERT_EQ(got.size(), at.size()) << op;
    for (std::size_t e = 0; e < at.size(); ++e)
      EXPECT_NEAR(got[e], want(at[e]), 1e-6 * (std::abs(want(at[e])) + 0.1)) << op << at[e];
  };
  check("Asin", x, [](double v) { return std::asin(v); });
  check("Acos", x, [](double v) { return std::acos(v); });
  check("Atan", x, [](double v) { return std::atan(v); });
  const double inf = std::numeric_limits<double>::infinity();
  const Doubles far = {0, 1e-30F, -1e-30F, 3, -7, 1e20F, -1e30F, inf, -inf};
  check("Atan", far, [](double v) { return std::atan(v); });
  const Doubles finite(far.begin(), far.end() - 2);
  check("Asinh", finite, [](double v) { return std::asinh(v); });
  check("Acosh", {1, 1.5, 3, 1e10F, 1e30F}, [](double v) { return std::acosh(v); });
}

// A window that is smaller than its stride leaves elements that no input reaches.
TEST(Meanings, ATransposedConvolutionMayBeLargerThanItsInputMakesIt) {
  test::Message same;
  same.text(1, "auto_pad").text(4, "SAME_UPPER").number(20, 3);
  EXPECT_EQ(result(node("ConvTranspose", {"x", "w"}, {"y"}, {same, attribute("strides", Ints{3})}),
                   {1, 1, 2}, {5, 7}, {tensor("w", {1, 1, 1}, Floats{2})}),
            (Doubles{10, 0, 0, 14, 0, 0}));
}

// Axes that change need not be the last ones, and those between them stay.
TEST(Meanings, AnyAxesOfAnImageChange) {
  const Doubles x = {1, 2, 3, 4, 5, 6, 7, 8};
  test::Message mode;
  mode.text(1, "mode").text(4, "nearest").number(20, 3);
  const auto resized = [&](const Ints& shape, const Floats& scales) {
    return result(node("Resize", {"x", "", "scales"}, {"y"}, {mode}), shape, x,
                  {tensor("scales", {std::ssize(scales)}, scales)});
  };
  EXPECT_EQ(resized({2, 2, 2}, {2, 1, 1}),
            (Doubles{1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8}));
  EXPECT_EQ(resized({2, 2, 2}, {2, 1, 0.5F}), (Doubles{1, 3, 1, 3, 5, 7, 5, 7}));
  EXPECT_EQ(resized({2, 4}, {1, 2}), (Doubles{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8}));
}

}  // namespace
}  // namespace lathe::graph
