#include "compiler/ops/scan.h"

#include <cmath>

#include <fmt/ranges.h>

#include "compiler/ir/expr/expr.h"
#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

// The index of the element, and that of its neighbour along the axis.
struct ScanTexts {
  std::string here, before, sized;  // sized: the iterators with their sizes
  std::string first;                // a condition for the element with which the axis begins

  ScanTexts(const std::vector<std::int64_t>& shape, std::size_t axis, bool reverse) {
    std::vector<std::string> iters, with_sizes;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      iters.push_back(fmt::format("i{}", d));
      with_sizes.push_back(fmt::format("i{}:{}", d, shape[d]));
    }
    sized = fmt::format("{}", fmt::join(with_sizes, ","));
    here = fmt::format("{}", fmt::join(iters, ","));
    first = fmt::format("{} == {}", iters[axis], reverse ? shape[axis] - 1 : 0);
    iters[axis] += reverse ? " + 1" : " - 1";
    before = fmt::format("{}", fmt::join(iters, ","));
  }
};

// The statement that computes S in this type of X.
std::string sums(const ScanTexts& at, const char* op, const char* identity, bool exclusive,
                 Dtype in, Dtype dtype) {
  std::string x =
      exclusive ? fmt::format("X[{} else {}]", at.before, identity) : fmt::format("X[{}]", at.here);
  if (in != dtype) x = fmt::format("{}({})", name_of(dtype), x);
  return fmt::format("S[{} else {}] {} {}", at.before, identity, op, x);
}
std::string extremes(const ScanTexts& at, const char* op, const char* identity, Dtype dtype) {
  const std::string x = fmt::format("X[{}]", at.here);
  if (is_float(dtype)) return fmt::format("{}(S[{} else {}], {})", op, at.before, identity, x);
  const double none =
      ir::identity_of(op == std::string("max") ? ir::ReduceOp::kMax : ir::ReduceOp::kMin, dtype);
  if (std::abs(none) < 0x1p53)
    return fmt::format("{}(S[{} else {:.0f}], {})", op, at.before, none, x);
  return fmt::format("select({}, {}, {}({}, S[{} else 0]))", at.first, x, op, x, at.before);
}

Result<std::size_t> axis_of(const Values& values) {
  const auto axes = LATHE_TRY(values.axes("axis", values.numbers("input")));
  if (axes.size() == 1) return axes[0];
  return Values::error("axis", "a scan goes along one dimension, and {} are given; name one",
                       axes.size());
}

// The whole text; `body`: of the stage that goes along the axis.
std::string text_of(const std::vector<std::int64_t>& shape, const ScanTexts& at, std::string body,
                    Dtype in, Dtype kept, Dtype out) {
  std::string text = typed(shaped("X", shape), in) + "\n";
  if (kept != out) {
    text += typed(shaped("S", shape), kept) + "\n";
    return text + fmt::format("S[{}] = {}\nY[{}] = {}(S[{}])\n", at.sized, body, at.sized,
                              name_of(out), at.here);
  }
  for (std::size_t own = body.find("S["); own != std::string::npos; own = body.find("S["))
    body[own] = 'Y';
  return text + fmt::format("Y[{}] = {}\n", at.sized, body);
}

Result<std::vector<Algorithm>> build_sums(const Values& values, const char* name, const char* op,
                                          const char* identity) {
  const auto& shape = values.numbers("input");
  const std::size_t axis = LATHE_TRY(axis_of(values));
  const Dtype in = LATHE_TRY(dtype_of(values));
  const Dtype kept = in == Dtype::kF16 || in == Dtype::kBF16 ? Dtype::kF32
                     : in == Dtype::kI8 || in == Dtype::kU8  ? Dtype::kI32
                                                             : in;
  const ScanTexts at(shape, axis, values.flag("reverse"));
  return direct(
      parsed(name, text_of(shape, at, sums(at, op, identity, values.flag("exclusive"), in, kept),
                           in, kept, is_float(in) ? in : kept)));
}

Result<std::vector<Algorithm>> build_extremes(const Values& values, const char* name,
                                              const char* op, const char* identity) {
  const auto& shape = values.numbers("input");
  const std::size_t axis = LATHE_TRY(axis_of(values));
  const Dtype dtype = LATHE_TRY(dtype_of(values));
  const ScanTexts at(shape, axis, values.flag("reverse"));
  return direct(
      parsed(name, text_of(shape, at, extremes(at, op, identity, dtype), dtype, dtype, dtype)));
}

std::vector<Parameter> parameters(bool sums) {
  std::vector<Parameter> out = {
      {Kind::kDims, "input", "", "shape of the input"},
      {Kind::kAxes, "axis", "-1", "dimension to go along: 0 is the first, -1 the last"},
      {Kind::kFlag, "reverse", "false", "from the last element to the first"}};
  if (sums)
    out.push_back({Kind::kFlag, "exclusive", "false", "each element has those before it alone"});
  out.push_back(dtype_parameter());
  return out;
}

}  // namespace

Operator cumsum() {
  return {"cumsum", "sum of the elements of X up to each one along a dimension", parameters(true),
          [](const Values& values) { return build_sums(values, "cumsum", "+", "0"); }};
}

Operator cumprod() {
  return {"cumprod", "product of the elements of X up to each one along a dimension",
          parameters(true),
          [](const Values& values) { return build_sums(values, "cumprod", "*", "1"); }};
}

Operator cummax() {
  return {"cummax", "largest of the elements of X up to each one along a dimension",
          parameters(false),
          [](const Values& values) { return build_extremes(values, "cummax", "max", "-inf"); }};
}

Operator cummin() {
  return {"cummin", "smallest of the elements of X up to each one along a dimension",
          parameters(false),
          [](const Values& values) { return build_extremes(values, "cummin", "min", "inf"); }};
}

}  // namespace lathe::ops
