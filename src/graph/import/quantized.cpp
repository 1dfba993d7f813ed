// Numbers that stand for others by a scale and a zero point: right, not fast.
#include <cmath>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

// A scale for all, or one for each place along the axis, seen with the rank of the input.
Result<int> along_axis(Site& site, std::size_t input) {
  const int id = site.input(input);
  if (site.at(input).elements() == 1) return site.view(id, {});
  const std::size_t rank = site.shape(0).size();
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 1)), rank));
  if (site.shape(input) != Shape{site.shape(0)[axis]} ||
      LATHE_TRY(site.integer("block_size", 0)) != 0)
    return site.unsupported("its scale is {}, for {}", typed(site.dtype(input), site.shape(input)),
                            typed(site.dtype(0), site.shape(0)));
  Shape shape(rank, 1);
  shape[axis] = site.shape(0)[axis];
  return site.view(id, shape);
}

Made quantized(Site& site) {
  const Dtype to = site.has(2) ? site.dtype(2) : Dtype::kU8;
  if (site.dtype(0) != Dtype::kF32 || site.dtype(1) != Dtype::kF32 ||
      (to != Dtype::kI8 && to != Dtype::kU8 && to != Dtype::kI16 && to != Dtype::kU16))
    return site.unsupported("it makes {} of {}", name_of(to), name_of(site.dtype(0)));
  const int bits = 8 * size_of(to);
  const double low = is_unsigned(to) ? 0 : -std::exp2(bits - 1),
               high = std::exp2(is_unsigned(to) ? bits : bits - 1) - 1;
  std::vector<int> ids{site.input(0), LATHE_TRY(along_axis(site, 1))};
  std::string value = "round({0} / {1})";
  if (site.has(2)) {
    ids.push_back(LATHE_TRY(along_axis(site, 2)));
    value += " + f32({2})";
  }
  return element_wise(site, fmt::format("{}(min(max({}, {}), {}))", name_of(to), value, low, high),
                      ids, to);
}

Made dequantized(Site& site) {
  if (is_float(site.dtype(0)) || site.dtype(1) != Dtype::kF32)
    return site.unsupported("it makes {} of {}", name_of(site.dtype(1)), name_of(site.dtype(0)));
  std::vector<int> ids{site.input(0), LATHE_TRY(along_axis(site, 1))};
  if (!site.has(2)) return element_wise(site, "f32({0}) * {1}", ids, Dtype::kF32);
  ids.push_back(LATHE_TRY(along_axis(site, 2)));
  return element_wise(site, "f32(i32({0}) - i32({2})) * {1}", ids, Dtype::kF32);
}

// Products of small integers, each less its zero point: one for all, or none.
Made integer_matmul(Site& site) {
  const Shape &a = site.shape(0), &b = site.shape(1);
  if (a.size() != 2 || b.size() != 2 || a[1] != b[0])
    return site.unsupported("its inputs are {} and {}", typed(site.dtype(0), a),
                            typed(site.dtype(1), b));
  std::vector<int> ids{site.input(0), site.input(1)};
  std::string text =
      declared("A", site.dtype(0), a) + "\n" + declared("B", site.dtype(1), b) + "\n";
  std::string left = "i32(A[i0,k])", right = "i32(B[k,i1])";
  for (std::size_t i = 2; i < 4; ++i) {
    if (!site.has(i)) continue;
    if (site.at(i).elements() != 1) return site.unsupported("it has several zero points");
    ids.push_back(site.input(i));
    const char* name = i == 2 ? "ZA" : "ZB";
    text += declared(name, site.dtype(i), {1}) + "\n";
    (i == 2 ? left : right) += fmt::format(" - i32({}[0])", name);
  }
  return site.write(fmt::format("{}Y[i0,i1] = sum(k) ({}) * ({})\n", text, left, right), ids);
}

}  // namespace

std::vector<Row> quantized_rows() {
  return {{"QuantizeLinear", 10, 2, quantized},
          {"DequantizeLinear", 10, 2, dequantized},
          {"MatMulInteger", 10, 2, integer_matmul}};
}

}  // namespace lathe::graph
