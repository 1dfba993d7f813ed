// Expressions put together compute what their parts compute one after the other.
#include "compiler/te/compose.h"

#include <cmath>
#include <cstdlib>
#include <map>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "support/random_workload.h"

namespace lathe::te {
namespace {

Workload as_workload(const std::string& text) {
  auto workload = parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text() << "\n" << text;
  return *workload;
}

const std::string kPlainProduct = "A: f32[5,7]; const B: f32[7,3]; C[i,j] = sum(k) A[i,k] * B[k,j]";
const std::string kBias = "A: f32[5,3]; const b: f32[3]; C[i,j] = max(A[i,j] + b[j], 0)";

std::string key_of(const std::string& text) { return workload_key(as_workload(text)); }

TEST(Compose, AnOutputTakesThePlaceOfAnInput) {
  const auto whole = compose(
      {.parts = {as_workload(kPlainProduct), as_workload(kBias)}, .edges = {{{0, "C"}, {1, "A"}}}});
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(workload_key(whole->workload),
            key_of("A: f32[5,7]; const B: f32[7,3]; const b: f32[3]; P[i,j] = sum(k) A[i,k] * "
                   "B[k,j]; C[i,j] = max(P[i,j] + b[j], 0)"));
  EXPECT_EQ(whole->names,
            (std::vector<std::vector<std::string>>{{"A", "B", "C"}, {"C", "b", "C_2"}}));
}

TEST(Compose, PartsMayComeInAnyOrderAndShareWhatTheyRead) {
  const std::string add = "P: f32[5,7]; Q: f32[5,7]; R[i,j] = P[i,j] + Q[i,j]";
  const std::string twice = "X: f32[5,7]; Y[i,j] = X[i,j] * 2";
  const auto whole = compose({.parts = {as_workload(add), as_workload(twice)},
                              .edges = {{{1, "Y"}, {0, "P"}}},
                              .alike = {{{0, "Q"}, {1, "X"}}}});
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(workload_key(whole->workload),
            key_of("X: f32[5,7]; Y[i,j] = X[i,j] * 2; R[i,j] = Y[i,j] + X[i,j]"));
}

TEST(Compose, OutputsAreThoseThatNobodyTakesOrThatAreNamed) {
  const std::string two = "X: f32[5]; Y[i] = X[i] + 1; Z[i] = X[i] * 3";
  const std::string twice = "X: f32[5]; Y[i] = X[i] * 2";
  Composition whole{.parts = {as_workload(two), as_workload(twice)},
                    .edges = {{{0, "Y"}, {1, "X"}}}};
  const auto names = [&] {
    const auto made = compose(whole);
    EXPECT_TRUE(made) << made.error().text();
    std::vector<std::string> out;
    for (const int t : made->workload.outputs())
      out.push_back(made->workload.tensors[static_cast<std::size_t>(t)].name);
    return out;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"Z", "Y_2"}));
  whole.outputs = {{0, "Y"}, {0, "Z"}, {1, "Y"}};
  EXPECT_EQ(names(), (std::vector<std::string>{"Y", "Z", "Y_2"}));
  whole.outputs = {{1, "Y"}, {0, "Z"}, {1, "Y"}};
  EXPECT_EQ(names(), (std::vector<std::string>{"Y", "Z"}));
}

TEST(Compose, NamesThatAreMadeUpAreNoIterators) {
  const std::string one = "A: f32[5]; B[i] = A[i]", other = "A: f32[5]; C[A_2] = A[A_2]";
  const auto whole = compose({.parts = {as_workload(one), as_workload(other)}});
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(whole->names[1], (std::vector<std::string>{"A_3", "C"}));
  EXPECT_TRUE(parse_workload(print_workload(whole->workload)));
}

TEST(Compose, PromisesOfAllPartsHold) {
  const std::string a = "X: f32[5] in -1..3; Y[i] = X[i] + 1; max_error 1e-3; numerics normwise";
  const std::string b = "const X: f32[5] in 0..9; Y[i] = X[i] * 2; numerics componentwise";
  const auto whole =
      compose({.parts = {as_workload(a), as_workload(b)}, .alike = {{{0, "X"}, {1, "X"}}}});
  ASSERT_TRUE(whole) << whole.error().text();
  const Tensor& x = whole->workload.tensors[0];
  EXPECT_TRUE(x.constant);
  EXPECT_EQ(x.range, (InputRange{0, 3}));
  EXPECT_EQ(whole->workload.contract.max_error, Contract{}.max_error);
  EXPECT_EQ(whole->workload.contract.numerics, Numerics::kComponentwise);
}

const std::string kGrouped =
    "A: f32[1,8,5,6]; const B: f32[12,4,3,3]; output C: f32[1,2,6,5,6] as [1,12,5,6]; "
    "C[n:1,g:2,o:6,y:5,x:6] = sum(c:4,r:3,s:3) "
    "A[n,4*g + c,y + r - 1,x + s - 1 else 0] * B[6*g + o,c,r,s]";

// The key of an expression over the output of another, as X.
std::string key_over(const std::string& one, const std::string& output, const std::string& other) {
  const auto whole = compose(
      {.parts = {as_workload(one), as_workload(other)}, .edges = {{{0, output}, {1, "X"}}}});
  if (!whole) return whole.error().text();
  return workload_key(whole->workload);
}

TEST(Compose, AnInputHasTheDimensionsOfWhatTakesItsPlace) {
  const std::string head =
      "A: f32[1,8,5,6]; const B: f32[12,4,3,3]; const E: f32[12]; R: f32[1,12,5,6]; "
      "S: f32[1,2,6,5,6]; output Z: f32[1,2,6,5,6] as [1,12,5,6]; "
      "S[n:1,g:2,o:6,y:5,x:6] = sum(c:4,r:3,s:3) "
      "A[n,4*g + c,y + r - 1,x + s - 1 else 0] * B[6*g + o,c,r,s]; ";
  EXPECT_EQ(key_over(kGrouped, "C",
                     "X: f32[1,12,5,6]; const E: f32[12]; R: f32[1,12,5,6]; "
                     "Z[n,o,y,x] = max(X[n,o,y,x] + E[o] + R[0,o,y,x], 0)"),
            key_of(head + "Z[n:1,g:2,o:6,y:5,x:6] = "
                          "max(S[n,g,o,y,x] + E[6*g + o] + R[0,6*g + o,y,x], 0)"));
}

TEST(Compose, ChainsKeepTheDimensionsInside) {
  const auto whole =
      compose({.parts = {as_workload(kGrouped),
                         as_workload("X: f32[1,12,5,6]; Y[n,o,y,x] = exp(X[n,o,y,x])"),
                         as_workload("X: f32[1,12,5,6]; const W: f32[12,2,1,1]; output "
                                     "Z: f32[1,6,2,5,6] as [1,12,5,6]; "
                                     "Z[n:1,g:6,o:2,y:5,x:6] = sum(c:2) X[n,2*g + c,y,x] "
                                     "* W[2*g + o,c,0,0]")},
               .edges = {{{0, "C"}, {1, "X"}}, {{1, "Y"}, {2, "X"}}}});
  ASSERT_TRUE(whole) << whole.error().text();
  const Workload& workload = whole->workload;
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(workload.tensors[static_cast<std::size_t>(workload.find("Y"))].shape,
            (Shape{1, 2, 6, 5, 6}));
  const Tensor& z = workload.tensors[static_cast<std::size_t>(workload.find("Z"))];
  EXPECT_EQ(z.shape, (Shape{1, 6, 2, 5, 6}));
  EXPECT_EQ(z.border_shape, (Shape{1, 12, 5, 6}));
  EXPECT_TRUE(parse_workload(print_workload(workload)));
}

TEST(Compose, TellsWhatIsWrong) {
  const auto said = [](const Composition& whole) {
    const auto made = compose(whole);
    return made ? "" : made.error().message;
  };
  const Workload product = as_workload(kPlainProduct), bias = as_workload(kBias);
  EXPECT_EQ(said({}), "a composition of no expressions computes nothing");
  EXPECT_EQ(said({.parts = {product}, .edges = {{{0, "C"}, {1, "A"}}}}),
            "there is no part 1; there are 1");
  EXPECT_EQ(said({.parts = {product, bias}, .edges = {{{0, "C"}, {1, "a"}}}}),
            "a is no input of part 1; it has A, b");
  EXPECT_EQ(said({.parts = {product, bias}, .edges = {{{0, "B"}, {1, "A"}}}}),
            "B is no output of part 0; it has C");
  EXPECT_EQ(said({.parts = {product, bias}, .edges = {{{0, "C"}, {1, "b"}}}}),
            "C of part 0 is [5,3], and b of part 1 is [3]; they must be equal");
  const Workload half = as_workload("A: f16[5,3]; Y[i,j] = A[i,j] + 1");
  EXPECT_EQ(said({.parts = {product, half}, .edges = {{{0, "C"}, {1, "A"}}}}),
            "C of part 0 is f32, and A of part 1 is f16; cast one of them");
  EXPECT_EQ(said({.parts = {product, product, bias},
                  .edges = {{{0, "C"}, {2, "A"}}, {{1, "C"}, {2, "A"}}}}),
            "two outputs take the place of A of part 2");
  EXPECT_EQ(said({.parts = {product, bias},
                  .edges = {{{0, "C"}, {1, "A"}}},
                  .alike = {{{0, "A"}, {1, "A"}}}}),
            "A of part 0 is [5,7], and A of part 1 is [5,3]; they must be equal");
  const Workload square = as_workload("X: f32[5]; Y[i] = X[i] * X[i]");
  EXPECT_EQ(said({.parts = {square, square},
                  .edges = {{{0, "Y"}, {1, "X"}}},
                  .alike = {{{0, "X"}, {1, "X"}}}}),
            "an output takes the place of X of part 1, so no input of the whole does");
  EXPECT_EQ(
      said({.parts = {square, square}, .edges = {{{0, "Y"}, {1, "X"}}, {{1, "Y"}, {0, "X"}}}}),
      "part 0 takes what follows from itself");
  EXPECT_EQ(said({.parts = {as_workload("X: f32[5] in 0..1; Y[i] = X[i]"),
                            as_workload("X: f32[5] in 2..3; Y[i] = X[i]")},
                  .alike = {{{0, "X"}, {1, "X"}}}}),
            "no number is in all ranges that parts promise of X");
}

// Callers see some neighbouring dimensions of an output as one.
void merge_some(Tensor& tensor, Rng& rng) {
  std::vector<std::int64_t> border;
  for (const std::int64_t size : tensor.shape)
    if (!border.empty() && rng.below(2) == 0) border.back() *= size;
    else border.push_back(size);
  if (border != tensor.shape) tensor.border_shape = border;
}

void merge_outputs(Workload& workload, Rng& rng) {
  for (const int t : workload.outputs())
    merge_some(workload.tensors[static_cast<std::size_t>(t)], rng);
}

// The tensor as callers see it.
Tensor seen(Tensor tensor) {
  tensor.shape = tensor.shape_at_border();
  return tensor;
}

// A part that reads a tensor of this shape and type, as X.
Workload consumer(const Tensor& tensor, Rng& rng) {
  std::vector<std::string> iters, kept, shifted;
  const std::size_t axis = rng.below(tensor.shape.size());
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    iters.push_back(std::string(1, static_cast<char>('i' + d)));
    if (d != axis) kept.push_back(iters.back());
    shifted.push_back(d == axis ? iters.back() + " - 1" : iters.back());
  }
  const std::string all = fmt::format("{}", fmt::join(iters, ","));
  const std::string head =
      fmt::format("X: {}[{}]; ", name_of(tensor.dtype), fmt::join(tensor.shape, ","));
  const std::string own = fmt::format("Z: {}[{}]; ", name_of(tensor.dtype), tensor.shape.back());
  if (tensor.dtype == Dtype::kBool)
    return as_workload(
        fmt::format("{}{}Y[{}] = !X[{}] || Z[{}]", head, own, all, all, iters.back()));
  const std::vector<std::string> sized = [&] {
    std::vector<std::string> out;
    for (std::size_t d = 0; d < iters.size(); ++d)
      out.push_back(fmt::format("{}:{}", iters[d], tensor.shape[d]));
    return out;
  }();
  std::vector<std::string> back = iters, scattered = iters;
  const std::int64_t size = tensor.shape[axis];
  back[axis] = fmt::format("{} - {}", size - 1, iters[axis]);
  scattered[axis] = fmt::format("{} * {} % {}", iters[axis], iters[axis], size);
  const std::vector<std::string> finer = [&] {
    std::vector<std::string> out = sized;
    out[axis] += fmt::format(",w:{}", size);
    return out;
  }();
  switch (rng.below(7)) {
    case 4:
      return as_workload(fmt::format("{}Y[{}] = X[{}] + X[{}]", head, fmt::join(sized, ","),
                                     fmt::join(back, ","), all));
    case 5:
      return as_workload(
          fmt::format("{}Y[{}] = X[{}]", head, fmt::join(sized, ","), fmt::join(scattered, ",")));
    case 6:
      return as_workload(fmt::format("{}Y[{}] = select(w <= {}, X[{}], 0)", head,
                                     fmt::join(finer, ","), iters[axis], all));
    case 0:
      return as_workload(
          fmt::format("{}{}Y[{}] = max(X[{}], 0) + Z[{}]", head, own, all, all, iters.back()));
    case 1:
      return as_workload(fmt::format("{}Y[{}] = X[{} else 0] + X[{}]", head, fmt::join(sized, ","),
                                     fmt::join(shifted, ","), all));
    case 2:
      if (!kept.empty())
        return as_workload(
            fmt::format("{}Y[{}] = max({}) X[{}]", head, fmt::join(kept, ","), iters[axis], all));
      [[fallthrough]];
    default:
      return as_workload(fmt::format("{}Z: {}[3]; Y[{}] = sum(q) X[{}] * Z[q]", head,
                                     name_of(tensor.dtype), all, all));
  }
}

using Values = std::map<std::string, interp::Tensor>;

// The outputs of a workload by name; inputs are taken by name.
Values evaluated(const Workload& workload, const Values& inputs) {
  std::vector<interp::Tensor> given;
  for (const int t : workload.inputs())
    given.push_back(inputs.at(workload.tensors[static_cast<std::size_t>(t)].name));
  const auto got = interp::evaluate(workload, given);
  EXPECT_TRUE(got) << got.error().text();
  Values out;
  for (std::size_t o = 0; o < workload.outputs().size(); ++o)
    out[workload.tensors[static_cast<std::size_t>(workload.outputs()[o])].name] = (*got)[o];
  return out;
}

TEST(Compose, RandomChainsComputeWhatTheirPartsDo) {
  const std::uint64_t rounds = std::getenv("LATHE_TEST_LONG") != nullptr ? 20'000 : 300;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    Rng rng(seed);
    Composition whole;
    whole.parts.push_back(random_workload(rng, {.dtypes = seed % 2 == 0, .max_iterations = 2000}));
    merge_outputs(whole.parts.back(), rng);
    const int depth = 2 + static_cast<int>(rng.below(4));
    for (int part = 1; part < depth; ++part) {
      const Workload& before = whole.parts.back();
      const auto outputs = before.outputs();
      const Tensor taken =
          seen(before.tensors[static_cast<std::size_t>(outputs[rng.below(outputs.size())])]);
      if (std::ranges::max(taken.shape) > 2000) break;
      whole.edges.push_back({{part - 1, taken.name}, {part, "X"}});
      whole.parts.push_back(consumer(taken, rng));
      merge_outputs(whole.parts.back(), rng);
    }
    const auto made = compose(whole);
    ASSERT_TRUE(made) << "seed " << seed << ": " << made.error().text();
    const std::string text = print_workload(made->workload);
    const auto again = parse_workload(text);
    ASSERT_TRUE(again) << "seed " << seed << ": " << again.error().text() << "\n" << text;
    EXPECT_TRUE(equal(*again, made->workload)) << "seed " << seed << "\n" << text;
    // The parts one by one, by the names of the whole.
    Values values;
    for (const int t : made->workload.inputs()) {
      const Tensor& tensor = made->workload.tensors[static_cast<std::size_t>(t)];
      values[tensor.name] = interp::random_input(tensor, rng);
    }
    const Values got = evaluated(made->workload, values);
    for (std::size_t p = 0; p < whole.parts.size(); ++p) {
      const Workload& part = whole.parts[p];
      Values own;
      for (const int t : part.inputs()) {
        const auto tensor = static_cast<std::size_t>(t);
        interp::Tensor& value = own[part.tensors[tensor].name];
        value = values.at(made->names[p][tensor]);
        value.shape = part.tensors[tensor].shape;
      }
      for (const auto& [name, value] : evaluated(part, own))
        values[made->names[p][static_cast<std::size_t>(part.find(name))]] = value;
    }
    for (const auto& [name, value] : got)
      for (std::size_t i = 0; i < value.values.size(); ++i)
        ASSERT_TRUE(value.values[i] == values.at(name).values[i] ||
                    (std::isnan(value.values[i]) && std::isnan(values.at(name).values[i])))
            << "seed " << seed << " " << name << "[" << i << "]\n"
            << text;
  }
}

}  // namespace
}  // namespace lathe::te
