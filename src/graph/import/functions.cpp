// Operators of one element each: functions, arithmetic, comparisons.
#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

std::vector<int> all_inputs(const Site& site) {
  std::vector<int> ids;
  for (std::size_t i = 0; i < site.inputs(); ++i)
    if (site.has(i)) ids.push_back(site.input(i));
  return ids;
}

Status same_types(const Site& site, const std::vector<int>& ids) {
  for (const int id : ids)
    if (site.value(id).dtype != site.value(ids[0]).dtype)
      return site.wrong("its inputs '{}' and '{}' have the types {} and {}",
                        site.value(ids[0]).name, site.value(id).name,
                        name_of(site.value(ids[0]).dtype), name_of(site.value(id).dtype));
  return {};
}

// A function of compiler/ops' map; `integers` is its formula for integers, empty where it has none.
Row mapped(const char* name, const char* function, const char* integers = "") {
  return {name, 1, 1, [=](Site& site) -> Made {
            if (is_float(site.dtype(0)))
              return site.call(
                  "map",
                  {{"input", fmt::format("{}", fmt::join(at_least_1d(site.shape(0)), ","))},
                   {"function", function},
                   {"dtype", std::string(name_of(site.dtype(0)))}},
                  {site.input(0)}, site.shape(0));
            if (*integers == '\0')
              return site.unsupported("its input is {}", name_of(site.dtype(0)));
            return element_wise(site, integers, {site.input(0)});
          }};
}

Row unary(const char* name, const char* formula, std::optional<Dtype> result = {}) {
  return {name, 1, 1,
          [=](Site& site) { return element_wise(site, formula, {site.input(0)}, result); }};
}

// With the attributes as numbers {a} and {b}, which have these names and defaults.
struct Setting {
  const char* name;
  double fallback;
};
Row with_settings(const char* name, std::vector<Setting> settings, const char* formula) {
  return {name, 1, 1, [=](Site& site) -> Made {
            std::string text = formula;
            char letter = 'a';
            for (const Setting& setting : settings) {
              const std::string value =
                  "(" + number_text(LATHE_TRY(site.real(setting.name, setting.fallback))) + ")";
              const std::string hole{'{', letter++, '}'};
              for (auto at = text.find(hole); at != std::string::npos; at = text.find(hole))
                text.replace(at, 3, value);
            }
            return element_wise(site, text, {site.input(0)});
          }};
}

Row binary(const char* name, const char* formula, std::optional<Dtype> result = {}) {
  return {name, 7, 2, [=](Site& site) -> Made {
            const std::vector<int> ids{site.input(0), site.input(1)};
            LATHE_TRY_STATUS(same_types(site, ids));
            return element_wise(site, formula, ids, result);
          }};
}

// Any number of inputs, joined by the formula of two; of their mean, divided by how many there are.
Row variadic(const char* name, const char* formula, bool mean = false) {
  return {name, 1, 1, [=](Site& site) -> Made {
            const std::vector<int> ids = all_inputs(site);
            LATHE_TRY_STATUS(same_types(site, ids));
            int so_far = ids[0];
            for (std::size_t k = 1; k < ids.size(); ++k)
              so_far = LATHE_TRY(element_wise(site, formula, {so_far, ids[k]}))[0];
            if (!mean) return std::vector<int>{so_far};
            return element_wise(site, fmt::format("{{0}} / {}", ids.size()), {so_far});
          }};
}

bool is_wide(Dtype dtype) { return dtype == Dtype::kI64; }

// The language divides integers by positive numbers alone. f64 holds the others of 32 bits exactly;
// of i64 it holds what is computed of shapes.
Made divided(Site& site) {
  const std::vector<int> ids{site.input(0), site.input(1)};
  LATHE_TRY_STATUS(same_types(site, ids));
  const Dtype dtype = site.dtype(0);
  if (is_float(dtype)) return element_wise(site, "{0} / {1}", ids);
  const bool known = site.at(1).constant && site.at(1).elements() == 1;
  if (known && numbers_of(site.at(1))[0] > 0 && !site.at(0).constant)
    return element_wise(site, "{0} / {1}", ids);
  if (is_wide(dtype) && !(site.at(0).constant && site.at(1).constant))
    return site.unsupported("it divides i64 by data");
  return element_wise(site, fmt::format("{}(f64({{0}}) / f64({{1}}))", name_of(dtype)), ids);
}

// What is left of x >= 0 by a divisor m > 0 whose quotient has 26 bits at most, without rounding:
// of the parts of m, of 26 bits each, products with the quotient are exact. The quotient may be one
// too much or too little. `scale` of m is a power of two.
Result<int> rest_of(Site& site, int x, int m, double scale) {
  const auto make = [&](const std::string& formula, const std::vector<int>& ids) {
    return element_wise(site, formula, ids);
  };
  const int by = LATHE_TRY(make(fmt::format("{{0}} * {:.17g}", scale), {m}))[0];
  const int high = LATHE_TRY(make("{0} * 134217729 - ({0} * 134217729 - {0})", {by}))[0];
  const int quotient = LATHE_TRY(make("floor({0} / {1})", {x, by}))[0];
  const int rest =
      LATHE_TRY(make("({0} - {1} * {2}) - {1} * ({3} - {2})", {x, quotient, high, by}))[0];
  return LATHE_TRY(
      make("select({0} < 0, {0} + {1}, select({0} >= {1}, {0} - {1}, {0}))", {rest, by}))[0];
}

// As C's fmod, for quotients below 2^52. Large numbers are brought down by a power of two, so that
// what is made of them stays in the range.
Made exact_remainder(Site& site) {
  const std::vector<int> ids{site.input(0), site.input(1)};
  const int scale = LATHE_TRY(element_wise(
      site, fmt::format("select(abs({{0}}) > 1e250, {:.17g}, 1)", 0x1p-64), {ids[1]}))[0];
  const int x = LATHE_TRY(element_wise(site, "abs({0}) * {1}", {ids[0], scale}))[0],
            m = LATHE_TRY(element_wise(site, "abs({0}) * {1}", {ids[1], scale}))[0];
  const int first = LATHE_TRY(rest_of(site, x, m, 0x1p26)),
            rest = LATHE_TRY(rest_of(site, first, m, 1));
  return element_wise(site, "select(abs({0}) < abs({1}), {0}, select({0} < 0, -{2}, {2}) / {3})",
                      {ids[0], ids[1], rest, scale});
}

// The remainder has the sign of the divisor, with fmod that of the dividend.
Made remainder_of(Site& site) {
  const std::vector<int> ids{site.input(0), site.input(1)};
  LATHE_TRY_STATUS(same_types(site, ids));
  const Dtype dtype = site.dtype(0);
  const bool like_dividend = LATHE_TRY(site.integer("fmod", 0)) != 0;
  if (is_float(dtype)) {
    if (!like_dividend) return site.wrong("fmod must be 1 for {}", name_of(dtype));
    if (dtype == Dtype::kF64) return exact_remainder(site);
    // In f64 no quotient of narrower numbers becomes a whole number by rounding, below 2^29.
    const std::string quotient = "f64({0}) / f64({1})";
    return element_wise(
        site,
        fmt::format("{0}(f64({{0}}) - f64({{1}}) * select({1} < 0, ceil({1}), floor({1})))",
                    name_of(dtype), quotient),
        ids);
  }
  if (is_wide(dtype) && !(site.at(0).constant && site.at(1).constant)) {
    const bool number = site.at(1).constant && site.at(1).elements() == 1;
    if (!number || numbers_of(site.at(1))[0] <= 0)
      return site.unsupported("it divides i64 by data");
    return element_wise(site, like_dividend ? "{0} % {1}" : "(({0} % {1}) + {1}) % {1}", ids);
  }
  const std::string quotient =
      like_dividend ? "f64(i64(f64({0}) / f64({1})))" : "floor(f64({0}) / f64({1}))";
  return element_wise(
      site, fmt::format("{}(f64({{0}}) - f64({{1}}) * {})", name_of(dtype), quotient), ids);
}

// The exponent where it is one number, known and none that makes the result larger.
std::optional<double> known_exponent(const Site& site) {
  const bool known = site.at(1).constant && site.at(1).elements() == 1 && !site.at(0).constant &&
                     site.shape(1).size() <= site.shape(0).size();
  return known ? std::optional(numbers_of(site.at(1))[0]) : std::nullopt;
}

// Integers are raised in f64, where a negative number to a whole power has a sign of its own, too.
// What is a whole number in truth may come out a little less there, and must not be cut to the next
// smaller one: pow of f64 is right to 2e-14 of itself while the result has less than 64 bits.
Made power(Site& site) {
  const std::vector<int> ids{site.input(0), site.input(1)};
  const Dtype base = site.dtype(0), exponent = site.dtype(1);
  const auto number = known_exponent(site);
  if (number == 2) return element_wise(site, "{0} * {0}", {ids[0]});
  if (number == 3) return element_wise(site, "{0} * {0} * {0}", {ids[0]});
  if (is_float(base) && base == exponent) return element_wise(site, "pow({0}, {1})", ids);
  const std::string power = "pow(f64({0}), f64({1}))";
  std::string value = power;
  if (!is_float(base) && !is_float(exponent)) value = fmt::format("round({})", power);
  else if (!is_float(base))
    value = fmt::format("select(floor(f64({{1}})) == f64({{1}}), round({0}), {0} * {1})", power,
                        1 + 2e-14);
  return element_wise(site, fmt::format("{}({})", name_of(base), value), ids);
}

Made clip(Site& site) {
  std::vector<int> ids{site.input(0)};
  std::string formula = "{0}";
  if (site.version() < 11) {
    if (site.given("min"))
      formula = fmt::format("max({}, {})", formula, number_text(LATHE_TRY(site.real("min", 0))));
    if (site.given("max"))
      formula = fmt::format("min({}, {})", formula, number_text(LATHE_TRY(site.real("max", 0))));
  } else {
    for (const auto& [input, function] : {std::pair(1U, "max"), std::pair(2U, "min")}) {
      if (!site.has(input)) continue;
      formula = fmt::format("{}({}, {{{}}})", function, formula, ids.size());
      ids.push_back(site.input(input));
    }
  }
  LATHE_TRY_STATUS(same_types(site, ids));
  if (ids.size() == 1 && formula == "{0}") return ids;
  return element_wise(site, formula, ids);
}

Made where(Site& site) {
  if (site.dtype(0) != Dtype::kBool) return site.wrong("its condition is no bool");
  LATHE_TRY_STATUS(same_types(site, {site.input(1), site.input(2)}));
  return element_wise(site, "select({0}, {1}, {2})", {site.input(0), site.input(1), site.input(2)},
                      site.dtype(1));
}

Made is_infinite(Site& site) {
  const bool up = LATHE_TRY(site.integer("detect_positive", 1)) != 0,
             down = LATHE_TRY(site.integer("detect_negative", 1)) != 0;
  return element_wise(site,
                      up && down ? "isinf({0})"
                      : up       ? "{0} == inf"
                      : down     ? "{0} == -inf"
                                 : "isinf({0}) && !isinf({0})",
                      {site.input(0)}, Dtype::kBool);
}

Made shifted(Site& site) {
  const std::string direction = LATHE_TRY(site.text("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return site.wrong("its direction is '{}', and must be LEFT or RIGHT", direction);
  return element_wise(site, direction == "LEFT" ? "{0} << {1}" : "{0} >> {1}",
                      {site.input(0), site.input(1)});
}

Made cast_to(Site& site, Dtype to) {
  const int id = site.input(0);
  if (site.dtype(0) == to) return std::vector<int>{site.view(id, site.shape(0))};
  return element_wise(site, fmt::format("{}({{0}})", name_of(to)), {id}, to);
}

Made cast(Site& site) {
  const std::int64_t type = LATHE_TRY(site.integer("to", 0));
  const auto to = onnx::dtype_of(static_cast<int>(type));
  if (!to) return site.unsupported("it casts to {}", onnx::type_name(static_cast<int>(type)));
  return cast_to(site, *to);
}

Made prelu(Site& site) {
  LATHE_TRY_STATUS(same_types(site, {site.input(0), site.input(1)}));
  return element_wise(site, "select({0} < 0, {0} * {1}, {0})", {site.input(0), site.input(1)});
}

Made gelu(Site& site) {
  const std::string kind = LATHE_TRY(site.text("approximate", "none"));
  if (kind != "none" && kind != "tanh")
    return site.wrong("its attribute approximate is '{}'", kind);
  return mapped("Gelu", kind == "tanh" ? "gelu-tanh" : "gelu").make(site);
}

// The inverse functions of sine, cosine and tangent: `factor` times the angle whose tangent is
// `tangent`, in terms of x. It is brought below 1, and then halved twice, which leaves 0.2 of a
// tangent at most, where a few terms of the series do.
Made inverse(Site& site, const char* tangent, double factor) {
  const Dtype own = site.dtype(0), dtype = own == Dtype::kF64 ? own : Dtype::kF32;
  if (!is_float(own)) return site.unsupported("its input is {}", name_of(own));
  std::string at, series;
  const Shape& shape = site.shape(0);
  for (std::size_t d = 0; d < at_least_1d(shape).size(); ++d)
    at += fmt::format("{}i{}", d == 0 ? "" : ",", d);
  for (int n = dtype == Dtype::kF64 ? 12 : 6; n >= 0; --n)
    series = fmt::format("{:.17g}{}", (n % 2 == 0 ? 1.0 : -1.0) / (2 * n + 1),
                         series.empty() ? "" : fmt::format(" + Z[{}] * ({})", at, series));
  const auto stage = [&, sized = iterators(shape)](const char* name, const std::string& formula) {
    std::string value;
    for (const char c : formula) value += c == '@' ? "[" + at + "]" : std::string(1, c);
    return fmt::format("{}[{}] = {}\n", name, sized, value);
  };
  const std::string type(name_of(dtype)),
      text = declared("X", own, shape) + "\noutput " + declared("Y", own, shape) + "\n" +
             stage("x", type + "(X@)") + stage("T", tangent) +
             stage("U", "select(abs(T@) > 1, 1 / T@, T@)") +
             stage("V", "U@ / (1 + sqrt(1 + U@ * U@))") +
             stage("W", "V@ / (1 + sqrt(1 + V@ * V@))") + stage("Z", "W@ * W@") +
             stage("A", fmt::format("4 * W@ * ({})", series)) +
             stage("Y", fmt::format("{}({} * select(abs(T@) > 1, sign(T@) * 1.5707963267948966 - "
                                    "A@, A@))",
                                    name_of(own), factor));
  return site.write(text, {site.input(0)}, shape);
}
Row inverse_row(const char* name, const char* tangent, double factor) {
  return {name, 7, 1, [=](Site& site) { return inverse(site, tangent, factor); }};
}

std::vector<Row> more_functions() {
  return {
      mapped("Sin", "sin"),
      mapped("Cos", "cos"),
      mapped("Tan", "tan"),
      unary("Sinh", "(expm1({0}) - expm1(-{0})) * 0.5"),
      unary("Cosh", "(exp({0}) + exp(-{0})) * 0.5"),
      // No square, which leaves the range of the type long before these do.
      unary("Asinh",
            "sign({0}) * log1p(abs({0}) + abs({0}) / (1 / abs({0}) + "
            "sqrt(1 / abs({0}) * (1 / abs({0})) + 1)))"),
      unary("Acosh", "log1p({0} - 1 + sqrt({0} - 1) * sqrt({0} + 1))"),
      unary("Atanh", "0.5 * log1p(2 * {0} / (1 - {0}))"),
      mapped("IsNaN", "isnan"),
      {"IsInf", 10, 1, is_infinite},
      inverse_row("Atan", "x@", 1),
      inverse_row("Asin", "x@ / (1 + sqrt((1 - x@) * (1 + x@)))", 2),
      inverse_row("Acos", "sqrt(1 - x@) / sqrt(1 + x@)", 2),
  };
}

std::vector<Row> rows_with_settings() {
  return {
      with_settings("LeakyRelu", {{"alpha", 0.01}}, "select({0} < 0, {0} * {a}, {0})"),
      with_settings("Elu", {{"alpha", 1}}, "select({0} < 0, {a} * expm1(min({0}, 0)), {0})"),
      with_settings("Celu", {{"alpha", 1}}, "select({0} < 0, {a} * expm1(min({0}, 0) / {a}), {0})"),
      with_settings("Selu",
                    {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}},
                    "{b} * select({0} <= 0, {a} * expm1(min({0}, 0)), {0})"),
      with_settings("ThresholdedRelu", {{"alpha", 1}}, "select({0} > {a}, {0}, 0)"),
      with_settings("HardSigmoid", {{"alpha", 0.2}, {"beta", 0.5}},
                    "max(0, min(1, {a} * {0} + {b}))"),
      with_settings("Shrink", {{"lambd", 0.5}, {"bias", 0}},
                    "select({0} < -{a}, {0} + {b}, select({0} > {a}, {0} - {b}, 0))"),
  };
}

}  // namespace

std::vector<Row> element_wise_rows() {
  constexpr Dtype kBool = Dtype::kBool;
  std::vector<Row> rows = {
      mapped("Relu", "relu", "relu({0})"),
      mapped("Sigmoid", "sigmoid"),
      mapped("Tanh", "tanh"),
      mapped("Erf", "erf"),
      mapped("Exp", "exp"),
      mapped("Log", "log"),
      mapped("Sqrt", "sqrt"),
      mapped("Abs", "abs", "abs({0})"),
      mapped("Softplus", "softplus"),
      mapped("Softsign", "softsign"),
      mapped("HardSwish", "hardswish"),
      mapped("Mish", "mish"),
      {"Gelu", 20, 1, gelu},
      {"Clip", 6, 1, clip},
      binary("Add", "{0} + {1}"),
      binary("Sub", "{0} - {1}"),
      binary("Mul", "{0} * {1}"),
      {"Div", 7, 2, divided},
      {"Mod", 10, 2, remainder_of},
      {"Pow", 7, 2, power},
      variadic("Sum", "{0} + {1}"),
      variadic("Mean", "{0} + {1}", true),
      variadic("Max", "max({0}, {1})"),
      variadic("Min", "min({0}, {1})"),
      {"Where", 9, 3, where},
      {"PRelu", 7, 2, prelu},
      {"Cast", 6, 1, cast},
      {"CastLike", 15, 2, [](Site& site) { return cast_to(site, site.dtype(1)); }},
      binary("And", "{0} && {1}"),
      binary("Or", "{0} || {1}"),
      binary("Xor", "{0} != {1}"),
      binary("Equal", "{0} == {1}", kBool),
      binary("Less", "{0} < {1}", kBool),
      binary("LessOrEqual", "{0} <= {1}", kBool),
      binary("Greater", "{0} > {1}", kBool),
      binary("GreaterOrEqual", "{0} >= {1}", kBool),
      binary("BitwiseAnd", "{0} & {1}"),
      binary("BitwiseOr", "{0} | {1}"),
      binary("BitwiseXor", "{0} ^ {1}"),
      {"BitShift", 11, 2, shifted},
      unary("BitwiseNot", "~{0}"),
      unary("Not", "!{0}"),
      unary("Neg", "-{0}"),
      unary("Reciprocal", "1 / {0}"),
      mapped("Floor", "floor"),
      mapped("Ceil", "ceil"),
      mapped("Round", "round"),
      mapped("Sign", "sign", "sign({0})"),
  };
  for (const std::vector<Row>& others : {more_functions(), rows_with_settings()})
    rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

}  // namespace lathe::graph
