// Images of another size against the definition and ONNX's examples.
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

interp::Tensor counted(const Index& shape) {
  interp::Tensor out{Dtype::kF32, shape, {}, {}};
  each_index(shape, [&](const Index&) {
    out.values.push_back(static_cast<double>(out.values.size() + 1));
  });
  return out;
}

// The rows of what 1, 2, 3 ... become.
void expect_row(const Arguments& arguments, const Index& input, std::vector<double> first_row) {
  SCOPED_TRACE(fmt::format("{}", arguments));
  const Evaluation r = evaluated(built("resize", arguments), {counted(input)});
  ASSERT_EQ(r.shape.back(), std::ssize(first_row));
  for (std::size_t x = 0; x < first_row.size(); ++x)
    EXPECT_NEAR(r.output.values[x], first_row[x], 1e-6) << x;
}

// The tests of Resize in ONNX.
TEST(Resize, ExamplesOfOnnx) {
  const auto two = [](Arguments more) {
    more["input"] = "1,1,2,2";
    return more;
  };
  const auto four = [](Arguments more) {
    more["input"] = "1,1,4,4";
    if (!more.contains("size")) more["scales"] = "2";
    return more;
  };
  expect_row(two({{"mode", "nearest"}, {"scales", "2,3"}}), {1, 1, 2, 2}, {1, 1, 1, 2, 2, 2});
  expect_row(two({{"scales", "2"}}), {1, 1, 2, 2}, {1, 1.25, 1.75, 2});
  expect_row(two({{"scales", "2"}, {"coordinates", "align-corners"}}), {1, 1, 2, 2},
             {1, 4.0 / 3, 5.0 / 3, 2});
  expect_row(
      four({{"mode", "cubic"}}), {1, 1, 4, 4},
      {0.47265625, 0.76953125, 1.24609375, 1.875, 2.28125, 2.91015625, 3.38671875, 3.68359375});
  expect_row(four({{"mode", "cubic"}, {"coordinates", "align-corners"}}), {1, 1, 4, 4},
             {1, 1.34110787, 1.80029155, 2.32944606, 2.67055394, 3.19970845, 3.65889213, 4});
  expect_row({{"input", "1,1,4,4"},
              {"scales", "0.8"},
              {"mode", "cubic"},
              {"cubic-weight", "-0.5"},
              {"exclude-outside", "true"}},
             {1, 1, 4, 4}, {1.36812675, 2.6695014, 4.0133367});
  // The length 2.4 is not rounded where the corners are aligned.
  expect_row({{"input", "1,1,2,4"}, {"scales", "0.6"}, {"coordinates", "align-corners"}},
             {1, 1, 2, 4}, {1, 3.142857142});
  expect_row(four({{"mode", "nearest"},
                   {"size", "8"},
                   {"rounding", "floor"},
                   {"coordinates", "tf-half-pixel-for-nn"}}),
             {1, 1, 4, 4}, {1, 1, 2, 2, 3, 3, 4, 4});
  expect_row(four({{"mode", "nearest"}, {"size", "8"}, {"rounding", "ceil"}}), {1, 1, 4, 4},
             {1, 2, 2, 3, 3, 4, 4, 4});
  expect_row(four({{"mode", "nearest"},
                   {"size", "8"},
                   {"rounding", "floor"},
                   {"coordinates", "align-corners"}}),
             {1, 1, 4, 4}, {1, 1, 1, 2, 2, 3, 3, 4});
  expect_row(four({{"mode", "nearest"},
                   {"size", "8"},
                   {"rounding", "round-prefer-ceil"},
                   {"coordinates", "asymmetric"}}),
             {1, 1, 4, 4}, {1, 2, 2, 3, 3, 4, 4, 4});
}

// The test of Resize in ONNX: parts of both axes, of which one reaches beyond the image.
TEST(Resize, PartsOfAnImage) {
  const Arguments crop = {{"input", "1,1,4,4"},
                          {"size", "3"},
                          {"coordinates", "tf-crop-and-resize"},
                          {"crop", "0.4,0.6,0.6,0.8"},
                          {"outside", "10"}};
  expect_row(crop, {1, 1, 4, 4}, {7.6, 7.9, 8.2});
  const auto changed = [&](const char* name, const char* value) {
    Arguments out = crop;
    out[name] = value;
    return out;
  };
  expect_row(changed("crop", "0.4,0.6,0.6,1.2"), {1, 1, 4, 4}, {7.6, 8.5, 10});
  expect_row(changed("crop", "0.4,-0.2,0.6,0.8"), {1, 1, 4, 4}, {10, 6.7, 8.2});
  expect_row(changed("crop", "0,0,1.5,1"), {1, 1, 4, 4}, {1, 2.5, 4});
  // All of the last row lies outside, and what is outside has no part in the row before it.
  const Evaluation r =
      evaluated(built("resize", changed("crop", "0,0,1.5,1")), {counted({1, 1, 4, 4})});
  EXPECT_NEAR(r.output.values[3], 1 + 2.25 * 4, 1e-6);
  for (std::size_t x = 6; x < 9; ++x) EXPECT_NEAR(r.output.values[x], 10, 1e-6) << x;
  for (const char* mode : {"nearest", "cubic"}) {
    Arguments other = changed("crop", "0,0.5,1,2");
    other["mode"] = mode;
    const Evaluation far = evaluated(built("resize", other), {counted({1, 1, 4, 4})});
    for (const std::size_t x : {1, 2, 4, 5, 7, 8})
      EXPECT_NEAR(far.output.values[x], 10, 1e-6) << mode << x;
  }
  // An axis of which a part becomes the whole of it changes, though its size does not.
  expect_row(changed("size", "4"), {1, 1, 4, 4}, {7.6, 7.8, 8, 8.2});
  expect_row(
      {{"input", "1,1,4"}, {"size", "4"}, {"coordinates", "tf-crop-and-resize"}, {"crop", "0,0.5"}},
      {1, 1, 4}, {1, 1.5, 2, 2.5});
}

// Where one division or product gives the places, no table says them; else one does.
TEST(Resize, NearestWithAndWithoutTables) {
  struct Row {
    const char *in, *size, *rounding;
    std::vector<double> row;
    bool table;
  };
  const std::vector<Row> rows = {{"1,1,3", "6", "floor", {1, 1, 2, 2, 3, 3}, false},
                                 {"1,1,6", "3", "floor", {1, 3, 5}, false},
                                 {"1,1,6", "2", "ceil", {1, 4}, false},
                                 {"1,1,1", "4", "floor", {1, 1, 1, 1}, false},
                                 {"1,1,5", "1", "floor", {1}, false},
                                 {"1,1,2", "5", "floor", {1, 1, 1, 2, 2}, false},
                                 {"1,1,3", "5", "floor", {1, 1, 2, 2, 3}, false},
                                 {"1,1,3", "4", "floor", {1, 1, 2, 3}, true},
                                 {"1,1,2", "4", "ceil", {1, 2, 2, 2}, true},
                                 {"1,1,5", "3", "floor", {1, 2, 4}, true}};
  for (const Row& row : rows) {
    const Arguments arguments = {{"input", row.in},
                                 {"size", row.size},
                                 {"mode", "nearest"},
                                 {"coordinates", "asymmetric"},
                                 {"rounding", row.rounding}};
    const te::Workload p = built("resize", arguments);
    EXPECT_EQ(p.find("Px") >= 0, row.table) << row.in << " " << row.size;
    const std::int64_t size = std::stoll(std::string(row.in).substr(4));
    expect_row(arguments, {1, 1, size}, row.row);
  }
}

// By hand: 5 elements become 3.6 and then 3, which lie in the middle of what 5 cover.
TEST(Resize, TheSameToBothSides) {
  expect_row({{"input", "1,1,5"}, {"scales", "0.72"}, {"coordinates", "half-pixel-symmetric"}},
             {1, 1, 5}, {3 - 1 / 0.72, 3, 3 + 1 / 0.72});
}

struct Weighted {
  std::int64_t place;
  double weight;
};

// All elements of an axis in one sum, each with its weight: the definition, in another way.
std::vector<Weighted> terms_of(std::int64_t x, std::int64_t in, std::int64_t out, double scale,
                               const std::string& mode, const std::string& coordinates,
                               bool exclude) {
  const auto place = static_cast<double>(x);
  double at = (place + 0.5) / scale - 0.5;
  if (coordinates == "asymmetric") at = place / scale;
  if (coordinates == "align-corners")
    at = out == 1 ? 0 : place * static_cast<double>(in - 1) / static_cast<double>(out - 1);
  if (coordinates == "pytorch-half-pixel" && out == 1) at = 0;
  std::vector<Weighted> terms;
  for (std::int64_t i = -4; i < in + 4; ++i) {
    const double d = std::abs(at - static_cast<double>(i)), a = -0.75;
    double weight = mode == "linear" ? std::max(0.0, 1 - d) : 0;
    if (mode == "cubic" && d <= 1) weight = (a + 2) * d * d * d - (a + 3) * d * d + 1;
    if (mode == "cubic" && d > 1 && d < 2)
      weight = a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
    if (exclude && (i < 0 || i >= in)) continue;
    terms.push_back({std::min(std::max<std::int64_t>(i, 0), in - 1), weight});
  }
  double sum = 0;
  for (const Weighted& term : terms) sum += term.weight;
  for (Weighted& term : terms) term.weight /= exclude ? sum : 1;
  return terms;
}

double weighted(const interp::Tensor& x, const Index& index, std::size_t d,
                const std::vector<std::vector<Weighted>>& terms) {
  if (d == index.size()) return at(x, index);
  double sum = 0;
  for (const Weighted& term : terms[d - 2])
    if (term.weight != 0) {
      Index inner = index;
      inner[d] = term.place;
      sum += term.weight * weighted(x, inner, d + 1, terms);
    }
  return sum;
}

void check_resize(const Index& input, const Index& size, const std::string& mode,
                  const std::string& coordinates, const char* dtype, bool exclude = false) {
  Arguments arguments = {{"input", list(input)},
                         {"size", list(size)},
                         {"mode", mode},
                         {"coordinates", coordinates},
                         {"dtype", dtype}};
  if (exclude) arguments["exclude-outside"] = "true";
  SCOPED_TRACE(fmt::format("{}", arguments));
  const Evaluation r = run(built("resize", arguments), 51);
  Index shape = {input[0], input[1]};
  shape.insert(shape.end(), size.begin(), size.end());
  const auto want = [&](const Index& y) {
    std::vector<std::vector<Weighted>> terms;
    for (std::size_t a = 0; a < size.size(); ++a)
      terms.push_back(terms_of(y[a + 2], input[a + 2], size[a],
                               static_cast<double>(size[a]) / static_cast<double>(input[a + 2]),
                               mode, coordinates, exclude));
    return weighted(r.inputs[0], y, 2, terms);
  };
  expect_output(r, shape, want, 1e-6);
}

TEST(Resize, LinearAndCubicAlongOneToThreeAxes) {
  for (const char* mode : {"linear", "cubic"})
    for (const char* how : {"half-pixel", "pytorch-half-pixel", "align-corners", "asymmetric"})
      for (const char* dtype : {"f32", "bf16"}) {
        check_resize({1, 2, 7}, {1}, mode, how, dtype);
        check_resize({2, 1, 1}, {5}, mode, how, dtype);
        check_resize({1, 2, 5, 7}, {11, 13}, mode, how, dtype);
        check_resize({1, 1, 11, 13}, {4, 3}, mode, how, dtype);
        check_resize({1, 1, 6, 5}, {6, 9}, mode, how, dtype);
        check_resize({1, 2, 3, 2, 5}, {4, 3, 2}, mode, how, dtype);
        check_resize({1, 2, 5, 7}, {11, 4}, mode, how, dtype, true);
      }
}

TEST(Resize, TheSameSizeCopies) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const Evaluation r =
        run(built("resize", {{"input", "2,3,5"}, {"size", "5"}, {"mode", mode}}), 52);
    EXPECT_EQ(r.output.values, r.inputs[0].values);
  }
}

}  // namespace
}  // namespace lathe::ops
