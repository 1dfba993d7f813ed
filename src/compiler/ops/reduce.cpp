#include "compiler/ops/reduce.h"

#include <algorithm>
#include <array>

#include "base/known_names.h"
#include "compiler/ops/index_texts.h"
#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

constexpr std::array<std::string_view, 7> kReductions = {"sum",  "prod",   "max",   "min",
                                                         "mean", "argmax", "argmin"};

// `last`: of equal extremes, the place of the last one.
std::string stages_of(std::string_view op, const IndexTexts& texts, bool keep, Dtype dtype,
                      bool last) {
  const std::string x = fmt::format("X[{}]", texts.term()), over = texts.over(),
                    y = fmt::format("Y[{}]", texts.kept_iters(keep));
  if (op == "mean") return fmt::format("{} = (sum({}) {}) / {}\n", y, over, x, texts.terms());
  if (!op.starts_with("arg")) return fmt::format("{} = {}({}) {}\n", y, op, over, x);
  // NaN makes the extreme NaN, which equals nothing.
  const std::string m = fmt::format("m[{}]", texts.kept()),
                    nan = is_float(dtype) ? fmt::format(" || {0} != {0}", x) : "";
  return fmt::format("m[{}] = {}({}) {}\n{} = {}({}) select({} == {}{}, {}, {})\n",
                     texts.kept_iters(), op.substr(3), over, x, y, last ? "max" : "min", over, x, m,
                     nan, texts.place(), last ? 0 : texts.terms());
}

Result<std::vector<Algorithm>> reduced(const char* name, std::string_view op, Dtype dtype,
                                       const Values& values, bool last = false) {
  const auto& shape = values.numbers("input");
  const IndexTexts texts(shape, LATHE_TRY(values.axes("axes", shape)));
  return direct(parsed(name, typed(shaped("X", shape), dtype) + "\n" +
                                 stages_of(op, texts, values.flag("keep-dims"), dtype, last)));
}

Result<std::vector<Algorithm>> build_reduce(const Values& values) {
  const std::string& op = values.text("op");
  if (std::ranges::find(kReductions, op) == kReductions.end())
    return Values::error(
        "op", "'{}' is no reduction; known are {}", op,
        known_names(std::vector<std::string>(kReductions.begin(), kReductions.end()), op));
  return reduced("reduce", op, LATHE_TRY(op == "mean" ? float_of(values) : dtype_of(values)),
                 values);
}
Result<std::vector<Algorithm>> build_argmax(const Values& values) {
  return reduced("argmax", "argmax", LATHE_TRY(dtype_of(values)), values, values.flag("last"));
}
Result<std::vector<Algorithm>> build_argmin(const Values& values) {
  return reduced("argmin", "argmin", LATHE_TRY(dtype_of(values)), values, values.flag("last"));
}

std::vector<Parameter> reduction_parameters() {
  return {{Kind::kDims, "input", "", "shape of the input"},
          {Kind::kAxes, "axes", "all", "dimensions to go over: 0 is the first, -1 the last"},
          {Kind::kFlag, "keep-dims", "false", "these dimensions stay in the output, as 1"},
          dtype_parameter()};
}

std::vector<Parameter> place_parameters() {
  std::vector<Parameter> out = reduction_parameters();
  out.insert(out.end() - 1,
             {Kind::kFlag, "last", "false", "of equal elements the last one, not the first"});
  return out;
}

}  // namespace

Operator reduce() {
  std::vector<Parameter> parameters = reduction_parameters();
  parameters.insert(
      parameters.begin() + 1,
      {Kind::kText, "op", "", fmt::format("one of {}; needed", fmt::join(kReductions, ", "))});
  return {"reduce", "sum, prod, max, min, mean, argmax or argmin of X over some of its dimensions",
          std::move(parameters), build_reduce};
}

Operator argmax() {
  return {"argmax", "the place of the first largest element of X, over some of its dimensions",
          place_parameters(), build_argmax};
}

Operator argmin() {
  return {"argmin", "the place of the first smallest element of X, over some of its dimensions",
          place_parameters(), build_argmin};
}

}  // namespace lathe::ops
