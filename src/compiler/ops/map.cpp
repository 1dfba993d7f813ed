#include "compiler/ops/map.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/known_names.h"
#include "compiler/ops/index_texts.h"
#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

Result<std::vector<Algorithm>> build_transpose_of(const Values& values) {
  const Dtype dtype = LATHE_TRY(copied_of(values));
  const auto& shape = values.numbers("input");
  const auto& order = values.numbers("order");
  std::vector<std::int64_t> sorted = order;
  std::ranges::sort(sorted);
  bool permutes = order.size() == shape.size();
  for (std::size_t d = 0; permutes && d < sorted.size(); ++d)
    permutes = std::cmp_equal(sorted[d], d);
  if (!permutes)
    return Values::error("order", "each dimension of [{}] is needed once, from 0 to {}, not {}",
                         fmt::join(shape, ","), shape.size() - 1, fmt::join(order, ","));
  std::vector<std::string> iters;
  for (const std::int64_t d : order) iters.push_back(fmt::format("i{}", d));
  return direct(
      parsed("transpose", fmt::format("{}\nY[{}] = X[{}]\n", typed(shaped("X", shape), dtype),
                                      fmt::join(iters, ","), IndexTexts(shape, {}).whole())));
}

struct Function {
  std::string_view name;
  std::string_view text;  // of the element {0}
};
constexpr std::array<Function, 30> kFunctions = {
    {{"relu", "relu({0})"},
     {"gelu", "0.5 * {0} * (1 + erf({0} * 0.7071067811865476))"},
     {"gelu-tanh",
      "0.5 * {0} * (1 + tanh(0.7978845608028654 * ({0} + 0.044715 * {0} * {0} * {0})))"},
     {"silu", "{0} * sigmoid({0})"},
     // x * tanh(log(1 + exp(x))), but exact where exp(x) is small beside 1.
     {"mish", "{0} / (1 + 2 / (exp(min({0}, 40)) * (exp(min({0}, 40)) + 2)))"},
     {"softplus", "relu({0}) + log(1 + exp(-abs({0})))"},
     {"elu", "select({0} > 0, {0}, exp(min({0}, 0)) - 1)"},
     {"hardswish", "{0} * min(relu({0} + 3), 6) / 6"},
     {"hardsigmoid", "min(relu({0} + 3), 6) / 6"},
     {"relu6", "min(relu({0}), 6)"},
     {"softsign", "{0} / (1 + abs({0}))"},
     {"abs", "abs({0})"},
     {"rsqrt", "rsqrt({0})"},
     {"sigmoid", "sigmoid({0})"},
     {"tanh", "tanh({0})"},
     {"erf", "erf({0})"},
     {"exp", "exp({0})"},
     {"log", "log({0})"},
     {"sqrt", "sqrt({0})"},
     {"sin", "sin({0})"},
     {"cos", "cos({0})"},
     {"tan", "tan({0})"},
     {"log1p", "log1p({0})"},
     {"expm1", "expm1({0})"},
     {"sign", "sign({0})"},
     {"round", "round({0})"},
     {"floor", "floor({0})"},
     {"ceil", "ceil({0})"},
     {"isnan", "isnan({0})"},
     {"isinf", "isinf({0})"}}};

bool yields_bool(const Function& function) { return function.name.starts_with("is"); }

std::string known_functions() {
  std::vector<std::string_view> names;
  for (const Function& f : kFunctions) names.push_back(f.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<std::vector<Algorithm>> build_map(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const auto& shape = values.numbers("input");
  const auto* found = std::ranges::find(kFunctions, values.text("function"), &Function::name);
  if (found == kFunctions.end())
    return Values::error("function", "'{}' is no function; known are {}", values.text("function"),
                         known_names(known_functions(), values.text("function")));
  const std::string at = IndexTexts(shape, {}).whole();
  const bool narrow = te::is_narrow(dtype);
  const std::string x = narrow ? fmt::format("f32(X[{}])", at) : fmt::format("X[{}]", at);
  return direct(parsed(
      "map", typed(shaped("X", shape), dtype) + "\n" +
                 (narrow && !yields_bool(*found) ? typed(shaped("Y", shape), dtype) + "\n" : "") +
                 fmt::format("Y[{}] = {}\n", at, fmt::format(fmt::runtime(found->text), x))));
}

}  // namespace

Operator transpose() {
  return {"transpose",
          "the elements of X with the dimensions in another order",
          {{Kind::kDims, "input", "", "shape of the input"},
           {Kind::kInts, "order", "", "for each dimension of the output, which one of X it is"},
           copied_parameter()},
          build_transpose_of};
}

Operator map() {
  return {"map",
          "a function of each element of X",
          {{Kind::kDims, "input", "", "shape of the input"},
           {Kind::kText, "function", "", fmt::format("one of {}; needed", known_functions())},
           float_parameter()},
          build_map};
}

}  // namespace lathe::ops
