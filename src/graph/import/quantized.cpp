// Numbers that stand for others by a scale and a zero point: right, not fast.
#include <cmath>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

// One number for all, or one for each place along the axis of a shape, seen with its rank.
Result<int> spread(Site& site, std::size_t input, const Shape& over, std::size_t axis) {
  const int id = site.input(input);
  if (site.at(input).elements() == 1) return site.view(id, {});
  if (axis >= over.size() || site.shape(input) != Shape{over[axis]})
    return site.unsupported("its input {} is {}, for [{}]", input,
                            typed(site.dtype(input), site.shape(input)), fmt::join(over, ","));
  Shape shape(over.size(), 1);
  shape[axis] = over[axis];
  return site.view(id, shape);
}
Result<int> along_axis(Site& site, std::size_t input) {
  if (LATHE_TRY(site.integer("block_size", 0)) != 0 && site.at(input).elements() != 1)
    return site.unsupported("its scale is one for each block");
  // Of a single scale the axis means nothing.
  const std::size_t rank = site.shape(0).size();
  const bool single = site.at(input).elements() == 1;
  const std::size_t axis =
      single ? 0 : LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 1)), rank));
  return spread(site, input, site.shape(0), axis);
}

// The number rounded into the range of a type of few bits.
std::string in_range(Dtype to, const std::string& number) {
  const int bits = 8 * size_of(to);
  const double low = is_unsigned(to) ? 0 : -std::exp2(bits - 1),
               high = std::exp2(is_unsigned(to) ? bits : bits - 1) - 1;
  return fmt::format("{}(min(max({}, {}), {}))", name_of(to), number, low, high);
}

Made quantized(Site& site) {
  const Dtype to = site.has(2) ? site.dtype(2) : Dtype::kU8;
  if (site.dtype(0) != Dtype::kF32 || site.dtype(1) != Dtype::kF32 ||
      (to != Dtype::kI8 && to != Dtype::kU8 && to != Dtype::kI16 && to != Dtype::kU16))
    return site.unsupported("it makes {} of {}", name_of(to), name_of(site.dtype(0)));
  std::vector<int> ids{site.input(0), LATHE_TRY(along_axis(site, 1))};
  std::string value = "round({0} / {1})";
  if (site.has(2)) {
    ids.push_back(LATHE_TRY(along_axis(site, 2)));
    value += " + f32({2})";
  }
  return element_wise(site, in_range(to, value), ids, to);
}

Made dequantized(Site& site) {
  if (is_float(site.dtype(0)) || site.dtype(1) != Dtype::kF32)
    return site.unsupported("it makes {} of {}", name_of(site.dtype(1)), name_of(site.dtype(0)));
  std::vector<int> ids{site.input(0), LATHE_TRY(along_axis(site, 1))};
  if (!site.has(2)) return element_wise(site, "f32({0}) * {1}", ids, Dtype::kF32);
  ids.push_back(LATHE_TRY(along_axis(site, 2)));
  return element_wise(site, "f32(i32({0}) - i32({2})) * {1}", ids, Dtype::kF32);
}

// The input less its zero points, as i32: one for all, or one for each place along the axis, as
// numbers of the rank of the input.
Result<int> centered(Site& site, std::size_t input, std::size_t zero, std::size_t axis) {
  if (is_float(site.dtype(input)) || site.dtype(input) == Dtype::kBool)
    return site.unsupported("its input is {}", name_of(site.dtype(input)));
  if (!site.has(zero))
    return LATHE_TRY(element_wise(site, "i32({0})", {site.input(input)}, Dtype::kI32))[0];
  const int by = LATHE_TRY(spread(site, zero, site.shape(input), axis));
  return LATHE_TRY(
      element_wise(site, "i32({0}) - i32({1})", {site.input(input), by}, Dtype::kI32))[0];
}

// The axis of rows of a matrix, or of its columns, where there is one.
std::size_t from_end(const Shape& shape, std::size_t n) {
  return shape.size() < n ? shape.size() : shape.size() - n;
}

// Products of small integers, each less its zero point.
Made integer_matmul(Site& site) {
  const int a = LATHE_TRY(centered(site, 0, 2, from_end(site.shape(0), 2))),
            b = LATHE_TRY(centered(site, 1, 3, from_end(site.shape(1), 1)));
  Site product = site.with({a, b});
  return product_of_matrices(product);
}

Made integer_conv(Site& site) {
  const int x = LATHE_TRY(centered(site, 0, 2, 1)), w = LATHE_TRY(centered(site, 1, 3, 0));
  Site convolution = site.with({x, w});
  return convolution_of(convolution);
}

// A sum of products of integers as a number of the output's scale and zero point. `factors`: the
// scales of both operands, which fit the sum.
Made scaled(Site& site, int sum, const std::vector<int>& factors, std::size_t scale) {
  const Dtype to = site.dtype(scale + 1);
  if (to != Dtype::kI8 && to != Dtype::kU8)
    return site.unsupported("its result is {}", name_of(to));
  std::vector<int> ids = factors;
  ids.insert(ids.begin(), sum);
  for (const std::size_t input : {scale, scale + 1}) {
    if (site.at(input).elements() != 1)
      return site.unsupported("its result has several scales or zero points");
    ids.push_back(site.view(site.input(input), {}));
  }
  return element_wise(site, in_range(to, "round(f32({0}) * ({1} * {2} / {3})) + f32({4})"), ids,
                      to);
}

Made scaled_matmul(Site& site) {
  const Shape a = site.shape(0), b = site.shape(3);
  const int left = LATHE_TRY(centered(site, 0, 2, from_end(a, 2))),
            right = LATHE_TRY(centered(site, 3, 5, from_end(b, 1)));
  Site product = site.with({left, right});
  const int sum = LATHE_TRY(product_of_matrices(product))[0];
  return scaled(site, sum,
                {LATHE_TRY(spread(site, 1, a, from_end(a, 2))),
                 LATHE_TRY(spread(site, 4, b, from_end(b, 1)))},
                6);
}

Made scaled_conv(Site& site) {
  const int x = LATHE_TRY(centered(site, 0, 2, 1)), w = LATHE_TRY(centered(site, 3, 5, 0));
  std::vector<int> inputs{x, w};
  if (site.has(8)) inputs.push_back(site.input(8));
  Site convolution = site.with(inputs);
  const int sum = LATHE_TRY(convolution_of(convolution))[0];
  const Shape made = site.value(sum).shape;
  return scaled(site, sum,
                {LATHE_TRY(spread(site, 1, made, 1)), LATHE_TRY(spread(site, 4, made, 1))}, 6);
}

// The scale and the zero point are those with which the range of the input, and 0, just fit.
Made dynamically_quantized(Site& site) {
  if (site.dtype(0) != Dtype::kF32)
    return site.unsupported("its input is {}", name_of(site.dtype(0)));
  const ops::Arguments all{
      {"input", fmt::format("{}", fmt::join(at_least_1d(site.shape(0)), ","))}};
  const auto extreme = [&](const char* op) {
    ops::Arguments arguments = all;
    arguments["op"] = op;
    return site.call("reduce", arguments, {site.input(0)}, Shape{});
  };
  const int low = LATHE_TRY(extreme("min"))[0], high = LATHE_TRY(extreme("max"))[0];
  const int range =
      LATHE_TRY(element_wise(site, "(max({0}, 0) - min({1}, 0)) / 255", {high, low}))[0];
  const int scale = LATHE_TRY(element_wise(site, "select({0} == 0, 1, {0})", {range}))[0];
  const int zero = LATHE_TRY(element_wise(site, in_range(Dtype::kU8, "round(-min({0}, 0) / {1})"),
                                          {low, scale}, Dtype::kU8))[0];
  const int numbers =
      LATHE_TRY(element_wise(site, in_range(Dtype::kU8, "round({0} / {1}) + f32({2})"),
                             {site.input(0), scale, zero}, Dtype::kU8))[0];
  return std::vector<int>{numbers, scale, zero};
}

}  // namespace

std::vector<Row> quantized_rows() {
  return {{"QuantizeLinear", 10, 2, quantized},
          {"DequantizeLinear", 10, 2, dequantized},
          {"MatMulInteger", 10, 2, integer_matmul},
          {"ConvInteger", 10, 2, integer_conv},
          {"QLinearMatMul", 10, 8, scaled_matmul},
          {"QLinearConv", 10, 8, scaled_conv},
          {"DynamicQuantizeLinear", 11, 1, dynamically_quantized}};
}

}  // namespace lathe::graph
