// Reductions, permutations, functions and contractions against plain loops.
#include <cmath>
#include <limits>
#include <map>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

struct ReduceCase {
  Index input;
  std::string axes;  // "all" is the default
  std::vector<std::size_t> over;
};
const std::vector<ReduceCase>& reduce_cases() {
  static const std::vector<ReduceCase> all = {
      {{1}, "all", {0}},          {{13}, "0", {0}},        {{5, 7}, "1", {1}},
      {{5, 7}, "0", {0}},         {{5, 7}, "all", {0, 1}}, {{3, 5, 4}, "-2", {1}},
      {{3, 5, 4}, "2,0", {0, 2}}, {{2, 1, 3}, "1", {1}},   {{2, 3, 1, 5}, "1,2,3", {1, 2, 3}}};
  return all;
}

double reduced(const std::string& op, const std::vector<double>& x) {
  double sum = 0, prod = 1;
  for (const double v : x) sum += v, prod *= v;
  if (op == "sum") return sum;
  if (op == "prod") return prod;
  if (op == "mean") return sum / static_cast<double>(x.size());
  if (op == "max") return *std::ranges::max_element(x);
  if (op == "min") return *std::ranges::min_element(x);
  // Both give the first of several.
  const auto found = op == "argmax" ? std::ranges::max_element(x) : std::ranges::min_element(x);
  return static_cast<double>(found - x.begin());
}

void check_reduce(const ReduceCase& c, const std::string& op, bool keep, const char* dtype) {
  const Evaluation r = run(built("reduce", {{"op", op},
                                            {"input", list(c.input)},
                                            {"axes", c.axes},
                                            {"keep-dims", keep ? "true" : "false"},
                                            {"dtype", dtype}}),
                           21);
  if (op.starts_with("arg")) {
    EXPECT_EQ(r.output.dtype, Dtype::kI64);
  }
  Index shape, kept, extents;
  for (std::size_t d = 0; d < c.input.size(); ++d) {
    const bool gone = std::ranges::find(c.over, d) != c.over.end();
    if (!gone || keep) shape.push_back(gone ? 1 : c.input[d]);
    kept.push_back(gone ? 1 : c.input[d]);
    if (gone) extents.push_back(c.input[d]);
  }
  if (shape.empty()) shape = {1};
  std::vector<double> want;
  each_index(kept, [&](const Index& y) {
    std::vector<double> terms;
    each_index(extents, [&](const Index& place) {
      Index there = y;
      for (std::size_t o = 0; o < c.over.size(); ++o) there[c.over[o]] = place[o];
      terms.push_back(at(r.inputs[0], there));
    });
    want.push_back(reduced(op, terms));
  });
  std::size_t next = 0;
  SCOPED_TRACE(op + " of " + list(c.input) + " over " + c.axes + " " + dtype);
  expect_output(r, shape, [&](const Index&) { return want.at(next++); });
}

TEST(Reduce, EveryReductionOverAnyDimensions) {
  for (const ReduceCase& c : reduce_cases())
    for (const char* op : {"sum", "prod", "max", "min", "mean", "argmax", "argmin"})
      for (const bool keep : {false, true}) check_reduce(c, op, keep, "f32");
}

TEST(Reduce, OtherTypes) {
  const ReduceCase c = {{3, 7}, "1", {1}};
  // Small whole numbers are often equal, so the first of several is asked for.
  for (const char* dtype : {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "f16", "bf16", "f64"})
    for (const char* op : {"sum", "max", "min", "argmax", "argmin"})
      check_reduce(c, op, false, dtype);
  check_reduce(c, "mean", false, "f16");
}

TEST(Reduce, TheFirstNanIsLargestAndSmallest) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const interp::Tensor x{
      Dtype::kF32, {5, 3}, {1, nan, nan, nan, 2, 1, inf, nan, inf, 0, -inf, -inf, inf, inf, 3}, {}};
  const Arguments arguments = {{"input", "5,3"}, {"axes", "1"}};
  const auto places = [&](const char* op) {
    Arguments with = arguments;
    with["op"] = op;
    return evaluated(built("reduce", with), {x}).output.values;
  };
  EXPECT_EQ(places("argmax"), (std::vector<double>{1, 0, 1, 0, 0}));
  EXPECT_EQ(places("argmin"), (std::vector<double>{1, 0, 1, 1, 2}));
  for (const char* op : {"argmax", "argmin"})
    EXPECT_EQ(evaluated(built(op, arguments), {x}).output.values, places(op));
}

TEST(Reduce, TheLastOfEqualElements) {
  const double nan = std::nan("");
  const interp::Tensor x{Dtype::kF32, {4, 3}, {1, 1, 0, 2, 2, 2, nan, 5, nan, 0, 1, 1}, {}};
  const auto places = [&](const char* op, const char* axis) {
    return evaluated(built(op, {{"input", "4,3"}, {"axes", axis}, {"last", "true"}}), {x})
        .output.values;
  };
  EXPECT_EQ(places("argmax", "1"), (std::vector<double>{1, 2, 2, 2}));
  EXPECT_EQ(places("argmin", "1"), (std::vector<double>{2, 2, 2, 0}));
  EXPECT_EQ(places("argmax", "0"), (std::vector<double>{2, 2, 2}));
}

TEST(Transpose, AnyOrder) {
  for (const auto& [input, order] :
       {std::pair{Index{1}, Index{0}}, std::pair{Index{5, 7}, Index{1, 0}},
        std::pair{Index{2, 3, 5}, Index{2, 0, 1}},
        std::pair{Index{2, 1, 3, 4}, Index{3, 2, 1, 0}}}) {
    const Evaluation r =
        run(built("transpose", {{"input", list(input)}, {"order", list(order)}}), 22);
    Index shape;
    for (const std::int64_t d : order) shape.push_back(input[static_cast<std::size_t>(d)]);
    expect_output(r, shape, [&](const Index& y) {
      Index x(y.size());
      for (std::size_t d = 0; d < y.size(); ++d) x[static_cast<std::size_t>(order[d])] = y[d];
      return at(r.inputs[0], x);
    });
  }
  EXPECT_EQ(run(built("transpose", {{"input", "2,3"}, {"order", "1,0"}, {"dtype", "i8"}}), 1)
                .output.dtype,
            Dtype::kI8);
}

TEST(Map, EveryFunction) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::map<std::string, std::function<double(double)>> functions = {
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }},
      {"gelu-tanh",
       [](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1)) * (x + 0.044715 * x * x * x)));
       }},
      {"silu", [&](double x) { return x * sigmoid(x); }},
      {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"hardswish", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {"hardsigmoid", [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {"relu6", [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {"softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"abs", [](double x) { return std::abs(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"sigmoid", sigmoid},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"log1p", [](double x) { return std::log1p(x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"sign", [](double x) { return x > 0 ? 1.0 : -1.0; }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }}};
  for (const auto& [name, function] : functions)
    for (const char* dtype : {"f32", "f64", "f16"})
      for (const Index& input : {Index{1}, Index{3, 7}, Index{2, 1, 5}}) {
        const Evaluation r =
            run(built("map", {{"input", list(input)}, {"function", name}, {"dtype", dtype}}), 23);
        EXPECT_EQ(r.output.dtype, *dtype_from_name(dtype));
        expect_output(r, input, [&](const Index& y) { return function(at(r.inputs[0], y)); }, 1e-7);
      }
}

TEST(Map, WhatIsNoNumberIsTold) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> x = {0, nan, inf, -inf, 3};
  for (const char* dtype : {"f32", "f64", "f16"})
    for (const char* name : {"isnan", "isinf"}) {
      const Evaluation r =
          evaluated(built("map", {{"input", "5"}, {"function", name}, {"dtype", dtype}}),
                    {{*dtype_from_name(dtype), {5}, x, {}}});
      EXPECT_EQ(r.output.dtype, Dtype::kBool);
      const bool is_nan = std::string(name) == "isnan";
      EXPECT_EQ(r.output.values, is_nan ? (std::vector<double>{0, 1, 0, 0, 0})
                                        : (std::vector<double>{0, 0, 1, 1, 0}));
    }
}

TEST(Map, LargeNumbersDoNotOverflow) {
  const std::vector<double> x = {-1000, -100, -50, -4, -1e-3, 0, 2.9, 6.5, 50, 100, 1000};
  const std::map<std::string, std::function<double(double)>> functions = {
      {"mish", [](double v) { return v > 50 ? v : v * std::tanh(std::log1p(std::exp(v))); }},
      {"softplus", [](double v) { return v > 50 ? v : std::log1p(std::exp(v)); }},
      {"elu", [](double v) { return v > 0 ? v : std::expm1(v); }},
      {"hardswish", [](double v) { return v * std::clamp(v + 3, 0.0, 6.0) / 6; }},
      {"relu6", [](double v) { return std::clamp(v, 0.0, 6.0); }}};
  for (const auto& [name, function] : functions) {
    SCOPED_TRACE(name);
    const Evaluation r = evaluated(built("map", {{"input", "11"}, {"function", name}}),
                                   {{Dtype::kF32, {11}, x, {}}});
    expect_output(r, {11}, [&](const Index& y) { return function(at(r.inputs[0], y)); }, 1e-7);
  }
}

// Sums up over every value of every letter.
void check_einsum(const std::string& subscripts, const std::string& output,
                  const std::map<char, std::int64_t>& sizes) {
  SCOPED_TRACE(subscripts);
  std::string given;
  for (const auto& [letter, size] : sizes)
    given += fmt::format("{}{}={}", given.empty() ? "" : ",", letter, size);
  const Evaluation r = run(built("einsum", {{"subscripts", subscripts}, {"sizes", given}}), 24);
  std::vector<std::string> operands(1);
  for (const char c : subscripts.substr(0, subscripts.find('-'))) {
    if (c == ',') operands.emplace_back();
    else if (c != ' ') operands.back() += c;
  }
  Index extents, shape;
  std::string letters;
  for (const auto& [letter, size] : sizes) letters += letter, extents.push_back(size);
  for (const char c : output) shape.push_back(sizes.at(c));
  const auto index = [&](const std::string& of, const Index& values) {
    Index out;
    for (const char c : of) out.push_back(values[letters.find(c)]);
    return out;
  };
  std::map<Index, double> want;
  each_index(extents, [&](const Index& values) {
    double product = 1;
    for (std::size_t i = 0; i < operands.size(); ++i)
      product *= at(r.inputs[i], index(operands[i], values));
    want[index(output, values)] += product;
  });
  if (output.empty()) {
    EXPECT_EQ(r.shape, Index{1});
    EXPECT_NEAR(r.output.values[0], want[{}], 1e-12);
  } else {
    expect_output(r, shape, [&](const Index& y) { return want.at(y); });
  }
}

TEST(Einsum, ContractionsOuterProductsDiagonalsAndSums) {
  check_einsum("ac,abc->cb", "cb", {{'a', 5}, {'b', 7}, {'c', 3}});
  check_einsum("ik,kj", "ij", {{'i', 3}, {'j', 4}, {'k', 11}});
  check_einsum("ik, kj, jl -> il", "il", {{'i', 3}, {'j', 4}, {'k', 5}, {'l', 2}});
  check_einsum("efbad,cf->abcde", "abcde",
               {{'a', 2}, {'b', 3}, {'c', 1}, {'d', 2}, {'e', 3}, {'f', 5}});
  check_einsum("i,j->ij", "ij", {{'i', 5}, {'j', 7}});
  check_einsum("i,i->", "", {{'i', 17}});
  check_einsum("ii->i", "i", {{'i', 5}});
  check_einsum("ii", "", {{'i', 5}});
  check_einsum("bii,ij->bj", "bj", {{'b', 2}, {'i', 3}, {'j', 5}});
  check_einsum("Aa,aB->AB", "AB", {{'A', 2}, {'a', 3}, {'B', 5}});
  check_einsum("abc->b", "b", {{'a', 2}, {'b', 3}, {'c', 5}});
  check_einsum("e,else->ls", "ls", {{'e', 3}, {'l', 2}, {'s', 4}});
}

}  // namespace
}  // namespace lathe::ops
