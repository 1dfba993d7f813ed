// Padding, slices, tensors side by side and classes as vectors against plain loops.
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

void check_pad(const Index& input, const Index& pad, double value, const char* dtype) {
  Index before, shape;
  for (std::size_t d = 0; d < input.size(); ++d) {
    before.push_back(pad[pad.size() == 1 ? 0 : d]);
    const std::int64_t after = pad.size() > input.size() ? pad[input.size() + d] : before[d];
    shape.push_back(before[d] + input[d] + after);
  }
  const Evaluation r = run(built("pad", {{"input", list(input)},
                                         {"pad", list(pad)},
                                         {"value", fmt::format("{}", value)},
                                         {"dtype", dtype}}),
                           31);
  expect_output(r, shape, [&](const Index& y) {
    Index x = y;
    for (std::size_t d = 0; d < x.size(); ++d) {
      x[d] -= before[d];
      if (x[d] < 0 || x[d] >= input[d]) return value;
    }
    return at(r.inputs[0], x);
  });
}

TEST(Pad, AnySidesAndNegativeOnes) {
  check_pad({1}, {0}, 0, "f32");
  check_pad({7}, {2}, -1.5, "f32");
  check_pad({3, 5}, {1, 2}, kEndless, "f64");
  check_pad({3, 5}, {1, -2, 0, 4}, -kEndless, "f32");
  check_pad({2, 3, 4}, {0, -1, 2, 1, -1, 0}, -7, "i8");
  check_pad({5, 4}, {-1, -1}, 3, "i64");
  check_pad({2, 1, 3}, {1}, 0.5, "bf16");
}

// Where the element i comes from, of `size` elements that go on beyond their ends.
std::int64_t source_of(std::int64_t i, std::int64_t size, const std::string& mode) {
  if (mode == "edge") return std::min(std::max<std::int64_t>(i, 0), size - 1);
  if (mode == "wrap") return ((i % size) + size) % size;
  const std::int64_t apart = mode == "symmetric" ? 1 : 0;
  if (i < 0) return -i - apart;
  return i < size ? i : 2 * (size - 1) - i + apart;
}

void check_pad_of(const Index& input, const Index& pad, const char* dtype,
                  const std::string& mode) {
  SCOPED_TRACE(fmt::format("[{}] by [{}] {}", list(input), list(pad), mode));
  const Evaluation r = run(
      built("pad", {{"input", list(input)}, {"pad", list(pad)}, {"mode", mode}, {"dtype", dtype}}),
      32);
  Index shape;
  const std::size_t rank = input.size();
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(pad[d] + input[d] + pad[rank + d]);
  expect_output(r, shape, [&](const Index& y) {
    Index x = y;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t begin = std::max<std::int64_t>(-pad[d], 0),
                         kept = input[d] - begin - std::max<std::int64_t>(-pad[rank + d], 0);
      x[d] = begin + source_of(y[d] - std::max<std::int64_t>(pad[d], 0), kept, mode);
    }
    return at(r.inputs[0], x);
  });
}

TEST(Pad, GoesOnAsItIsSaid) {
  for (const char* mode : {"edge", "reflect", "symmetric", "wrap"}) {
    check_pad_of({7}, {3, 2}, "f32", mode);
    check_pad_of({5, 3}, {4, 0, 1, 2}, "i8", mode);
    check_pad_of({5, 7}, {-2, 1, 1, -3}, "f64", mode);
    check_pad_of({4, 5, 3}, {2, 0, 2, 0, 4, 0}, "bool", mode);
    check_pad_of({3, 4, 2}, {2, 3, 1, 2, 3, 1}, "f16", mode);
    check_pad_of({5, 1}, {4, 0, 0, 0}, "i64", mode);
  }
  for (const char* mode : {"edge", "wrap"}) {
    check_pad_of({3, 2}, {10, 5, 8, 7}, "f32", mode);
    check_pad_of({1, 1}, {3, 3, 0, 2}, "f32", mode);
  }
  check_pad_of({3, 2}, {3, 2, 3, 2}, "f32", "symmetric");
}

struct Cut {
  Index input;
  Arguments arguments;
  std::vector<Index> places;  // that are left of each dimension
};

TEST(Slice, AsPythonDoes) {
  const std::vector<Cut> cuts = {
      {{7}, {}, {{0, 1, 2, 3, 4, 5, 6}}},
      {{7}, {{"begin", "2"}, {"end", "-1"}}, {{2, 3, 4, 5}}},
      {{7}, {{"step", "-1"}}, {{6, 5, 4, 3, 2, 1, 0}}},
      {{7}, {{"begin", "-2"}, {"end", "-100"}, {"step", "-3"}}, {{5, 2}}},
      {{7}, {{"begin", "100"}, {"end", "0"}, {"step", "-2"}}, {{6, 4, 2}}},
      {{7}, {{"begin", "-100"}, {"end", "100"}, {"step", "4"}}, {{0, 4}}},
      {{7}, {{"step", "9"}}, {{0}}},
      {{3, 5}, {{"begin", "1"}}, {{1, 2}, {1, 2, 3, 4}}},
      {{3, 5}, {{"axes", "1"}, {"end", "-2"}, {"step", "2"}}, {{0, 1, 2}, {0, 2}}},
      {{4, 3, 5},
       {{"axes", "-1,0"}, {"begin", "1,3"}, {"end", "4,0"}, {"step", "1,-2"}},
       {{3, 1}, {0, 1, 2}, {1, 2, 3}}},
  };
  for (const Cut& c : cuts)
    for (const char* dtype : {"f32", "u8"}) {
      Arguments arguments = c.arguments;
      arguments["input"] = list(c.input);
      arguments["dtype"] = dtype;
      SCOPED_TRACE(fmt::format("{}", arguments));
      const Evaluation r = run(built("slice", arguments), 32);
      Index shape;
      for (const Index& places : c.places) shape.push_back(std::ssize(places));
      expect_output(r, shape, [&](const Index& y) {
        Index x;
        for (std::size_t d = 0; d < y.size(); ++d)
          x.push_back(c.places[d][static_cast<std::size_t>(y[d])]);
        return at(r.inputs[0], x);
      });
    }
}

void check_concat(const std::vector<Index>& inputs, std::int64_t axis, const char* dtype) {
  std::string text;
  for (const Index& input : inputs) text += (text.empty() ? "" : ";") + list(input);
  const Evaluation r = run(
      built("concat", {{"inputs", text}, {"axis", std::to_string(axis)}, {"dtype", dtype}}), 33);
  const auto d = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(inputs[0]) : axis);
  Index shape = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) shape[d] += inputs[i][d];
  SCOPED_TRACE(text);
  ASSERT_EQ(r.inputs.size(), inputs.size());
  expect_output(r, shape, [&](const Index& y) {
    Index x = y;
    std::size_t i = 0;
    while (x[d] >= inputs[i][d]) x[d] -= inputs[i++][d];
    return at(r.inputs[i], x);
  });
}

TEST(Concat, AnyNumberAlongAnyDimension) {
  check_concat({{3}}, 0, "f32");
  check_concat({{3}, {1}}, 0, "f64");
  check_concat({{2, 3}, {2, 5}, {2, 1}}, 1, "f32");
  check_concat({{2, 3}, {4, 3}, {1, 3}, {3, 3}}, 0, "i32");
  check_concat({{2, 3, 2}, {2, 1, 2}}, -2, "f16");
  check_concat(std::vector<Index>(19, Index{2, 3}), -1, "u8");
}

// Copies keep what arithmetic would change: a sum of reads with `else 0` would make 0 of -0.
TEST(Concat, NanInfinitiesAndNegativeZerosAreCopied) {
  const std::vector<double> values = {-0.0, kEndless, std::nan(""), -kEndless, 0.0};
  const te::Workload p = built("concat", {{"inputs", "5;5;5"}});
  const interp::Tensor x{Dtype::kF32, {5}, values, {}};
  const Evaluation r = evaluated(p, {x, x, x});
  ASSERT_EQ(r.output.values.size(), 15u);
  for (std::size_t i = 0; i < 15; ++i) {
    const double got = r.output.values[i], want = values[i % 5];
    EXPECT_TRUE(std::isnan(want) ? std::isnan(got)
                                 : got == want && std::signbit(got) == std::signbit(want))
        << i << " " << got;
  }
}

TEST(OneHot, AnyAxisAndTypes) {
  for (const Index& input : {Index{1}, Index{7}, Index{3, 5}, Index{2, 1, 3}})
    for (const std::int64_t axis : {-1, 0})
      for (const char* from : {"i64", "i32", "i8", "u8"})
        for (const char* to : {"f32", "i8", "bf16"}) {
          const std::int64_t depth = 5;
          const Evaluation r = run(built("one_hot", {{"input", list(input)},
                                                     {"depth", "5"},
                                                     {"axis", std::to_string(axis)},
                                                     {"index-dtype", from},
                                                     {"dtype", to}}),
                                   34);
          EXPECT_EQ(r.output.dtype, *dtype_from_name(to));
          Index shape = input;
          shape.insert(axis < 0 ? shape.end() : shape.begin(), depth);
          expect_output(r, shape, [&](const Index& y) {
            Index x = y;
            const std::int64_t place = axis < 0 ? x.back() : x.front();
            x.erase(axis < 0 ? x.end() - 1 : x.begin());
            return at(r.inputs[0], x) == static_cast<double>(place) ? 1.0 : 0.0;
          });
        }
  const Evaluation r = evaluated(built("one_hot", {{"input", "4"}, {"depth", "3"}}),
                                 {{Dtype::kI64, {4}, {2, -1, 3, 0}, {}}});
  EXPECT_EQ(r.output.values, (std::vector<double>{0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(OneHot, NumbersFromTheEndAndOtherValues) {
  const Arguments arguments = {
      {"input", "5"}, {"depth", "3"}, {"axis", "0"}, {"negative", "true"}, {"values", "true"}};
  const Evaluation r = evaluated(
      built("one_hot", arguments),
      {{Dtype::kI64, {5}, {2, -1, -3, 3, -4}, {}}, {Dtype::kF32, {2}, {-7, std::nan("")}, {}}});
  const std::vector<double> places = {2, 2, 0, 99, 99};
  expect_output(r, {3, 5}, [&](const Index& y) {
    return places[static_cast<std::size_t>(y[1])] == static_cast<double>(y[0]) ? std::nan("") : -7;
  });
}

TEST(Pieces, OfBools) {
  const interp::Tensor x{Dtype::kBool, {2, 3}, {1, 0, 1, 1, 1, 0}, {}};
  const auto of = [&](const char* op, Arguments arguments, int inputs = 1) {
    arguments["dtype"] = "bool";
    const Evaluation r =
        evaluated(built(op, arguments), std::vector(static_cast<std::size_t>(inputs), x));
    EXPECT_EQ(r.output.dtype, Dtype::kBool);
    return r.output.values;
  };
  const std::string input = "2,3";
  EXPECT_EQ(of("transpose", {{"input", input}, {"order", "1,0"}}),
            (std::vector<double>{1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(of("slice", {{"input", input}, {"axes", "1"}, {"step", "-2"}}),
            (std::vector<double>{1, 1, 0, 1}));
  EXPECT_EQ(of("concat", {{"inputs", "2,3;2,3"}, {"axis", "0"}}, 2),
            (std::vector<double>{1, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0}));
  EXPECT_EQ(of("pad", {{"input", input}, {"pad", "0,0,0,1"}, {"value", "1"}}),
            (std::vector<double>{1, 0, 1, 1, 1, 1, 0, 1}));
}

}  // namespace
}  // namespace lathe::ops
