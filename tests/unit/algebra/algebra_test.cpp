// Algebra before scheduling: what is rewritten, that it computes the same, and what it saves.
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/algebra/algebra.h"
#include "compiler/algebra/contraction_order.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/nest_eval.h"

namespace lathe::algebra {
namespace {

te::Workload parsed(const std::string& text) {
  auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text() << "\n" << text;
  return *workload;
}

// The steps of algebra, without what follows them.
std::string rewrites(const std::string& text) {
  std::string out;
  for (const schedule::Step& step : rewritten(parsed(text)).steps)
    out += (out.empty() ? "" : "; ") + schedule::print(step);
  return out;
}

TEST(Algebra, SumsUpFirstWhatOneFactorAloneHas) {
  EXPECT_EQ(rewrites("A: f32[100,90]; B: f32[100,80]\nY[one:1] = sum(a,b,c) A[a,b] * B[a,c]"),
            "contract factor 0 of Y as Y.first");
}

TEST(Algebra, OrdersProducts) {
  const std::string chain = "Y[i,l] = sum(j,k) A[i,j] * B[j,k] * C[k,l]";
  EXPECT_EQ(rewrites("A: f32[10,90]; B: f32[90,80]; C: f32[80,70]\n" + chain),
            "contract factors 0, 1 of Y as Y.first");
  EXPECT_EQ(rewrites("A: f32[100,90]; B: f32[90,80]; C: f32[80,7]\n" + chain),
            "contract factors 1, 2 of Y as Y.first");
  EXPECT_EQ(rewrites("A: f32[2,3]; B: f32[3,2]; C: f32[2,3]\n" + chain), "");
}

TEST(Algebra, KeepsWhatASumWouldComputeAnew) {
  EXPECT_EQ(rewrites("X: f32[64,256]; W: f32[256,256]\nY[i,o] = sum(k) exp(X[i,k]) * W[k,o]"),
            "precompute expression 1 of Y as Y.kept");
  EXPECT_EQ(rewrites("a: f32[16,99]; b: f32[16,99]; P: f32[77,99]\n"
                     "Y[t,o] = sum(f) a[t,f] * sigmoid(a[t,f]) * b[t,f] * P[o,f]"),
            "contract factors 0, 1, 2 of Y as Y.first");
  EXPECT_EQ(rewrites("X: f32[64,256]; W: f32[256,99]\nY[i,o] = max(k) (X[i,k] + log(W[k,o]))"),
            "precompute expression 2 of Y as Y.kept");
  EXPECT_EQ(rewrites("X: f32[8,64,66]; W: f32[3]\nY[c,y,x] = sum(s) exp(X[c,y,x+s]) * W[s]"),
            "precompute expression 1 of Y as Y.kept");
  EXPECT_EQ(rewrites("X: f32[99,256]; g: f32[256]\nY[i,j] = X[i,j] * sigmoid(g[j])"),
            "precompute expression 2 of Y as Y.kept");
}

TEST(Algebra, DividesOutsideOfTheSum) {
  EXPECT_EQ(rewrites("A: f32[99,256]; B: f32[256,64]; t: f32[99]\n"
                     "Y[i,j] = sum(k) A[i,k] * B[k,j] / (t[i] * t[i] + 1)"),
            "contract factors 0, 1 of Y as Y.first");
  EXPECT_EQ(rewrites("A: f32[99,256]; B: f32[256,64]; s: f32[256]\n"
                     "Y[i,j] = sum(k) A[i,k] / sqrt(s[k]) * B[k,j]"),
            "contract factors 1, 2 of Y as Y.first; precompute expression 1 of Y.first as "
            "Y.first.kept");
}

TEST(Algebra, ReducesOnceWhatSeveralBlocksDo) {
  EXPECT_EQ(rewrites("X: f32[99,256]\n"
                     "Y[i,j] = X[i,j] / (sum(k) X[i,k]) + (sum(k) X[i,k]) * (max(k) X[i,k])"),
            "share Y_acc2 from Y_acc; inline Y_acc2");
}

TEST(Algebra, JoinsSumsOfSums) {
  EXPECT_EQ(rewrites("A: f32[9,30,70]; T[i,j] = sum(k) A[i,j,k]; S[i] = sum(j) T[i,j]"),
            "inline T");
  EXPECT_EQ(rewrites("A: f32[9,30,70]; S[i] = sum(j:30) (sum(k:70) A[i,j,k])").substr(0, 6),
            "inline");
  EXPECT_EQ(rewrites("A: f32[9,30,70]; T[i,j] = max(k) A[i,j,k]; S[i] = max(j) T[i,j]"),
            "inline T");
  EXPECT_EQ(rewrites("A: f32[9,30,70]; c: f32[30]\n"
                     "T[i,j] = sum(k) A[i,j,k]; S[i] = sum(j) c[j] * T[i,j]"),
            "inline T");
  // The order of three factors is found once they are in one sum.
  EXPECT_EQ(rewrites("A: f32[99,80]; B: f32[80,70]; v: f32[70]\n"
                     "T[i,j] = sum(k) A[i,k] * B[k,j]; S[i] = sum(j) T[i,j] * v[j]"),
            "inline T; contract factors 0, 2 of S as S.first");
}

TEST(Algebra, LeavesSumsOfSumsWhereThatSavesWork) {
  const auto joined = [](const std::string& text) {
    return rewrites(text).find("inline") != std::string::npos;
  };
  // An output, another reduction, one that is read again or elsewhere, a window, a map between.
  EXPECT_FALSE(joined("A: f32[9,30,70]; T[i,j] = sum(k) A[i,j,k]; S[i] = max(j) T[i,j]"));
  EXPECT_FALSE(
      joined("A: f32[30,70]; B: f32[30,50]\n"
             "T[j] = sum(k) A[j,k]; S[i:50] = sum(j) T[j] * B[j,i]"));
  EXPECT_FALSE(
      joined("A: f32[9,30,70]; T[i,j] = sum(k) A[i,j,k]; S[i] = sum(j) T[i,j]\n"
             "Y[i,j] = T[i,j] / S[i]"));
  EXPECT_FALSE(joined("A: f32[300,70]; T[j] = sum(k) A[j,k]; S[i:298] = sum(r:3) T[i+r]"));
  EXPECT_FALSE(joined("A: f32[9,30,70]; T[i,j] = sum(k) A[i,j,k]; S[i] = sum(j) exp(T[i,j])"));
  // What prepare() does once, and sums in half precision.
  EXPECT_FALSE(
      joined("const A: f32[9,30,70]; B: f32[9,30]\n"
             "T[i,j] = sum(k) A[i,j,k]; S[i] = sum(j) T[i,j] * B[i,j]"));
  EXPECT_FALSE(joined("A: f16[9,30,70]; T[i,j] = sum(k) A[i,j,k]; S[i] = sum(j) T[i,j]"));
}

TEST(Algebra, TakesConstantFactorsOutOfProducts) {
  EXPECT_EQ(rewrites("A: f32[99,256]; B: f32[256,64]; Y[i,j] = sum(k) 2 * A[i,k] * B[k,j]"),
            "contract factors 1, 2 of Y as Y.first");
  EXPECT_EQ(rewrites("A: f32[99,256]; B: f32[256,64]; c: f32[99]\n"
                     "Y[i,j] = sum(k) c[i] * A[i,k] * B[k,j]"),
            "contract factors 1, 2 of Y as Y.first");
}

TEST(Algebra, ComputesAgainWhereBothWaysCanWin) {
  const auto again = [](const std::string& text) {
    std::string out;
    for (const schedule::Step& step : rewritten(parsed(text), Repeated::kAgain).steps)
      out += (out.empty() ? "" : "; ") + schedule::print(step);
    return out;
  };
  EXPECT_EQ(again("X: f32[3,99,256]; g: f32[99,256]\nY[n,i,j] = X[n,i,j] * sigmoid(g[i,j])"), "");
  EXPECT_EQ(again("X: f32[64,256]; W: f32[256,3]\nY[i,o] = sum(k) exp(X[i,k]) * W[k,o]"), "");
  // Once for each of 256 columns would be far too often; constants are ready beforehand.
  EXPECT_EQ(again("X: f32[64,256]; W: f32[256,256]\nY[i,o] = sum(k) exp(X[i,k]) * W[k,o]"),
            "precompute expression 1 of Y as Y.kept");
  EXPECT_EQ(again("X: f32[3,99,256]; const g: f32[99,256]\n"
                  "Y[n,i,j] = X[n,i,j] * sigmoid(g[i,j])"),
            "precompute expression 2 of Y as Y.kept");
}

TEST(Algebra, ReadsWhatAnotherBlockKeeps) {
  const std::string numerator = "N[i,o] = sum(k) exp(X[i,k]) * V[k,o]\n",
                    denominator = "D[i] = sum(j:256) exp(X[i,j])\n",
                    start = "X: f32[99,256]; V: f32[256,64]\n";
  EXPECT_EQ(rewrites(start + numerator + denominator),
            "precompute expression 1 of N as N.kept; share D from N.kept");
  EXPECT_EQ(rewrites(start + denominator + numerator),
            "precompute expression 0 of D as D.kept; share N from D.kept");
  EXPECT_EQ(rewrites("X: f32[300,61]; m: f32[61]\n"
                     "Y[i,j] = sum(n) (X[n,i] - m[i]) * (X[n,j] - m[j])"),
            "precompute expression 1 of Y as Y.kept; share Y from Y.kept");
}

TEST(Algebra, GoesAlongOneDimensionOfAWindowFirst) {
  EXPECT_EQ(rewrites("X: f32[100,300]\nY[y,x] = sum(r:7,s:7) X[y+r,x+s]"),
            "separate r of Y as Y.along");
  EXPECT_EQ(rewrites("X: f32[100,300]\nY[y:100,x:300] = max(r:5,s:5) X[y+r-2,x+s-2 else -inf]"),
            "separate r of Y as Y.along");
  EXPECT_EQ(rewrites("X: f32[100,300]; g: f32[5]; h: f32[5]\n"
                     "Y[y,x] = sum(r,s) X[y+r,x+s] * g[r] * h[s]"),
            "separate r of Y as Y.along");
  EXPECT_EQ(rewrites("X: f32[100,300]\nY[y,x] = sum(r:3,s:3) X[y+r,x+s]"), "");
  EXPECT_EQ(rewrites("X: f32[100,300]; k: f32[5,5]\nY[y,x] = sum(r,s) X[y+r,x+s] * k[r,s]"), "");
}

TEST(Algebra, KeepsWhatNeighboursShareOnce) {
  EXPECT_EQ(rewrites("X: f32[16,30,30]; Z: f32[16,30,30]; W: f32[24,16,3,3]\n"
                     "Y[o,y,x] = sum(c,r,s) X[c,y+r,x+s] * Z[c,y+r,x+s] * W[o,c,r,s]"),
            "contract factors 0, 1 of Y as Y.first");
  EXPECT_EQ(rewritten(parsed("X: f32[16,30,30]; Z: f32[16,30,30]; W: f32[24,16,3,3]\n"
                             "Y[o,y,x] = sum(c,r,s) X[c,y+r,x+s] * Z[c,y+r,x+s] * W[o,c,r,s]"))
                .workload.tensors.back()
                .shape,
            (std::vector<std::int64_t>{16, 30, 30}));
}

TEST(Algebra, LeavesAloneWhatSavesNothing) {
  EXPECT_EQ(rewrites("X: f32[64,256]; m: f32[64]\nY[i] = sum(k) exp(X[i,k] - m[i])"), "");
  EXPECT_EQ(rewrites("X: f32[99,256]; g: f32[99]\nY[i,j] = X[i,j] * sigmoid(g[i])"), "");
  EXPECT_EQ(rewrites("X: f32[1,64,30,30]; W: f32[64,64,3,3]\n"
                     "Y[n,o,y,x] = sum(c,r,s) X[n,c,y+r,x+s] * W[o,c,r,s]"),
            "");
  EXPECT_EQ(rewrites("X: f32[1,64,30,30]\nY[n,c,y,x] = sum(r:3,s:3) X[n,c,y+r,x+s] * 0.111"), "");
}

// A sum of products over letters, of which some are in the result.
struct Letters {
  std::string text;
  FactorSum sum;
};
Letters random_letters(Rng& rng) {
  const int letters = static_cast<int>(rng.between(2, 5));
  Letters out;
  std::vector<std::string> declared, read, result, summed;
  std::set<int> seen;
  for (int i = 0; i < letters; ++i)
    out.sum.extents.push_back(static_cast<double>(rng.between(1, 11)));
  const auto size = [&](int i) { return static_cast<int>(out.sum.extents[std::size_t(i)]); };
  const auto name = [](int i) { return std::string(1, static_cast<char>('i' + i)); };
  for (int f = 0; f < rng.between(1, 5); ++f) {
    std::vector<std::string> index, sizes;
    std::set<int> own;
    for (int i = 0; i < letters; ++i)
      if (rng.chance(0.5) || (i + 1 == letters && own.empty())) own.insert(i);
    for (const int i : own) index.push_back(name(i)), sizes.push_back(std::to_string(size(i)));
    declared.push_back(
        fmt::format("{}: f32[{}]", static_cast<char>('A' + f), fmt::join(sizes, ",")));
    const char* const kFactors[] = {"{}[{}]",       "{}[{}]",      "{}[{}]",
                                    "tanh({}[{}])", "abs({}[{}])", "1 / (abs({}[{}]) + 1)"};
    read.push_back(fmt::format(fmt::runtime(kFactors[rng.below(6)]), static_cast<char>('A' + f),
                               fmt::join(index, ",")));
    if (rng.chance(0.1)) read.push_back("0.75");
    seen.insert(own.begin(), own.end());
    out.sum.factors.push_back({own, 0, 0});
  }
  for (const int i : seen) {
    const std::string sized = fmt::format("{}:{}", name(i), size(i));
    if (rng.chance(0.4)) result.push_back(sized), out.sum.results.insert(i);
    else summed.push_back(sized);
  }
  if (result.empty()) result.push_back("one:1");
  const std::string sum = summed.empty() ? "" : fmt::format("sum({}) ", fmt::join(summed, ","));
  out.text = fmt::format("{}\nY[{}] = {}{}", fmt::join(declared, "; "), fmt::join(result, ","), sum,
                         fmt::join(read, " * "));
  return out;
}

TEST(Algebra, RewrittenProgramsComputeTheSame) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const std::string text = random_letters(rng).text;
    const te::Workload workload = parsed(text);
    ir::Nest nest = te::naive_nest(workload);
    schedule::Trace steps;
    rewrite(nest, steps, false);
    count += steps.empty() ? 0 : 1;
    const auto inputs = interp::random_inputs(workload, rng);
    const auto want = interp::evaluate(workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_EQ(interp::compare((*want)[0], (*got)[0].values, 2), "") << "seed " << seed << "\n"
                                                                    << text << "\n"
                                                                    << schedule::print(steps);
    // As an expression it is what the steps make.
    EXPECT_EQ(ir::print(te::naive_nest(rewritten(workload).workload)), ir::print(nest));
  }
  EXPECT_GT(count, 40);
}

// A reduction of reductions, in one expression or two statements, with factors.
std::string random_nested_sums(Rng& rng) {
  const auto size = [&] { return rng.chance(0.2) ? 1 : rng.between(2, 13); };
  const auto i = size(), j = size(), k = size(), l = size();
  const char* const reduces[] = {"sum", "sum", "sum", "max", "min", "prod"};
  const std::string outer = reduces[rng.below(6)];
  const std::string inner = rng.chance(0.8) ? outer : reduces[rng.below(6)];
  const char* const terms[] = {"A[i,j,k]",      "A[i,j,k] * B[k,l]", "exp(A[i,j,k])",
                               "B[k,l] * c[j]", "f32(k) * A[i,j,k]", "A[i,j,k] * 0.5"};
  const char* const uses[] = {
      "{}", "{} * c[j]", "c[j] * {} * 2", "d[i] * {}", "{} / (d[i] + 3)", "{} * {}", "{} + c[j]"};
  const auto use = rng.below(7);
  const std::string what = terms[rng.below(6)];
  const std::string declared = fmt::format(
      "A: f32[{0},{1},{2}] in 0.5..1.5; B: f32[{2},{3}] in 0.5..1.5; c: f32[{1}]; d: f32[{0}] in "
      "1..2\nZ[i:{0},j:{1}] = A[i,j,0] + B[0,0] + c[j] + d[i]\n",
      i, j, k, l);
  const std::string sizes = fmt::format("i:{},l:{}", i, l);
  const auto used = [&](const std::string& of) {
    return use == 5 ? fmt::format("{0} * {0}", of) : fmt::format(fmt::runtime(uses[use]), of);
  };
  if (rng.chance(0.4))
    return declared + fmt::format("Y[{}] = {}(j:{}) ({})", sizes, outer, j,
                                  used(fmt::format("({}(k:{}) {})", inner, k, what)));
  return declared + fmt::format("T[i:{},l:{},j:{}] = {}(k:{}) {}\nY[{}] = {}(j:{}) ({})", i, l, j,
                                inner, k, what, sizes, outer, j, used("T[i,l,j]"));
}

TEST(Algebra, JoinedSumsComputeTheSame) {
  int joined = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed);
    const std::string text = random_nested_sums(rng);
    const te::Workload workload = parsed(text);
    const auto inputs = interp::random_inputs(workload, rng);
    const auto want = interp::evaluate(workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    for (const Repeated repeated : {Repeated::kKept, Repeated::kAgain}) {
      ir::Nest nest = te::naive_nest(workload);
      schedule::Trace steps;
      rewrite(nest, steps, false, repeated);
      joined += schedule::print(steps).find("inline") != std::string::npos ? 1 : 0;
      ASSERT_TRUE(ir::verify(nest)) << ir::verify(nest).error().text() << "\n" << text;
      const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
      ASSERT_TRUE(got) << got.error().text();
      ASSERT_EQ(interp::compare(want->back(), got->back().values, 2), "") << "seed " << seed << "\n"
                                                                          << text << "\n"
                                                                          << schedule::print(steps);
    }
    EXPECT_EQ(ir::print(te::naive_nest(rewritten(workload).workload)), [&] {
      ir::Nest nest = te::naive_nest(workload);
      schedule::Trace steps;
      rewrite(nest, steps, false);
      return ir::print(nest);
    }());
  }
  EXPECT_GT(joined, 100);
}

// Windows of two dimensions, as a reduction of a product; some of the factors have one of them.
std::string random_windows(Rng& rng) {
  const auto number = [&](std::int64_t most) { return rng.between(1, most); };
  const auto y = number(7), x = number(9), r = number(4), s = number(5), step = number(2),
             apart = number(2);
  const char* const reduces[] = {"sum", "sum", "max", "min", "prod"};
  const std::string reduce = reduces[rng.below(5)];
  const char* const pads[] = {"", " else 0", " else 1"};
  const char* const places[] = {"{0}*y+r,{1}*x+s", "{0}*y+{1}*r,x+s", "y+r,{0}*x+{1}*s-1"};
  const std::size_t place = rng.below(3);
  std::string read = fmt::format(fmt::runtime(places[place]), step, apart);
  const std::string pad = place == 2 ? " else 0" : pads[rng.below(3)];
  std::string body = fmt::format("X[{}{}]", read, pad);
  const char* const factors[] = {" * G[r]", " * H[s]", " * K[r,s]", " * X[y,x]", " * 0.5", ""};
  for (int more = static_cast<int>(rng.below(3)); more > 0; --more) body += factors[rng.below(6)];
  if (rng.chance(0.2)) body = fmt::format("exp({})", body);
  return fmt::format(
      "X: f32[{},{}]; G: f32[{}]; H: f32[{}]; K: f32[{},{}]\n"
      "Z[r:{},s:{}] = G[r] + H[s] + K[r,s]\n"
      "Y[y:{},x:{}] = {}(r:{},s:{}) {}",
      2 * y + 2 * r, 2 * x + 2 * s, r, s, r, s, r, s, y, x, reduce, r, s, body);
}

TEST(Algebra, SeparatedWindowsComputeTheSame) {
  int made = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const std::string text = random_windows(rng);
    const te::Workload workload = parsed(text);
    const auto inputs = interp::random_inputs(workload, rng);
    const auto want = interp::evaluate(workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    for (const char* first : {"r", "s"}) {
      ir::Nest nest = te::naive_nest(workload);
      if (!schedule::apply(nest, schedule::Separate{"Y", {first}, "T"})) continue;
      ++made;
      ASSERT_TRUE(ir::verify(nest)) << ir::verify(nest).error().text() << "\n" << text;
      const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
      ASSERT_TRUE(got) << got.error().text();
      ASSERT_EQ(interp::compare(want->back(), got->back().values, 2), "") << "seed " << seed << "\n"
                                                                          << text << "\n"
                                                                          << ir::print(nest);
    }
  }
  EXPECT_GT(made, 300);
}

// Two statements, the second of which has what the first one computes.
std::string random_repetition(Rng& rng) {
  const char* const what[] = {"exp(X[{0},{1}])", "X[{0},{1}] * V[{1}]", "X[{0},{1}] / (V[{0}] + 3)",
                              "tanh(V[{0}]) + X[{0},{1}]"};
  const auto kind = rng.below(4);
  const auto as = [&](const char* i, const char* j) {
    return fmt::format(fmt::runtime(what[kind]), i, j);
  };
  const char* const uses[] = {"sum(k:{0}) ({1}) * W[k]", "max(k:{0}) ({2})",
                              "sum(k:{0}) ({2} + {1})", "{3} - W[i]",
                              "sum(k:{0}) ({1}) * ({1}) * 2"};
  const auto size = rng.between(2, 7);
  const std::string use =
      fmt::format(fmt::runtime(uses[rng.below(5)]), size, as("i", "k"), as("k", "i"), as("i", "0"));
  return fmt::format(
      "X: f32[{0},{0}]; V: f32[{0}]; W: f32[{0}]\nE[p,q] = {1}\nY[i:{0}] = {2}\n"
      "Z[i] = Y[i] + E[0,i] + W[i] + V[i]",
      size, as("p", "q"), use);
}

TEST(Algebra, SharedExpressionsComputeTheSame) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const std::string text = random_repetition(rng);
    const te::Workload workload = parsed(text);
    const auto inputs = interp::random_inputs(workload, rng);
    const auto want = interp::evaluate(workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    ir::Nest nest = te::naive_nest(workload);
    const std::string user = nest.find_block("Y_acc") >= 0 ? "Y_acc" : "Y";
    ASSERT_TRUE(schedule::apply(nest, schedule::Share{user, "E"})) << text;
    ASSERT_TRUE(ir::verify(nest)) << ir::verify(nest).error().text() << "\n" << text;
    const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_EQ(interp::compare(want->back(), got->back().values, 2), "") << text << "\n"
                                                                        << ir::print(nest);
  }
}

// Multiplications and additions of an order, by its own account.
double operations(const FactorSum& sum, const ContractionPart& part, const std::set<int>& above,
                  std::set<int>& result) {
  std::set<int> own;
  double first = 0;
  const auto others_of = [&](const std::set<int>& mine) {
    std::set<int> out = sum.results;
    for (std::size_t f = 0; f < sum.factors.size(); ++f)
      if (!mine.contains(static_cast<int>(f)))
        out.insert(sum.factors[f].iters.begin(), sum.factors[f].iters.end());
    return out;
  };
  for (const int f : part.factors)
    own.insert(sum.factors[std::size_t(f)].iters.begin(), sum.factors[std::size_t(f)].iters.end());
  for (const ContractionPart& p : part.parts) {
    std::set<int> inner;
    first += operations(sum, p, others_of(p.all_factors()), inner);
    own.insert(inner.begin(), inner.end());
  }
  double points = 1;
  for (const int i : own) points *= sum.extents[std::size_t(i)];
  for (const int i : own)
    if (above.contains(i)) result.insert(i);
  return first + points * std::max<double>(1, double(part.factors.size() + part.parts.size()) - 1);
}

TEST(ContractionOrder, OfChainsOfMatricesIsTheKnownOne) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const int count = static_cast<int>(rng.between(3, 5));
    FactorSum sum;
    for (int i = 0; i <= count; ++i)
      sum.extents.push_back(static_cast<double>(rng.between(20, 300)));
    sum.results = {0, count};
    for (int f = 0; f < count; ++f) sum.factors.push_back({{f, f + 1}, 0, 0});
    // The usual recurrence over intervals.
    std::map<std::pair<int, int>, double> best;
    for (int length = 1; length <= count; ++length)
      for (int a = 0; a + length <= count; ++a) {
        const int b = a + length;
        double& cost = best[{a, b}];
        if (length == 1) continue;
        cost = 1e300;
        for (int m = a + 1; m < b; ++m)
          cost = std::min(cost, best[{a, m}] + best[{m, b}] +
                                    sum.extents[std::size_t(a)] * sum.extents[std::size_t(m)] *
                                        sum.extents[std::size_t(b)]);
      }
    std::set<int> result;
    const double found = operations(sum, contraction_order(sum), sum.results, result);
    // It also counts values that are stored and passes.
    EXPECT_LE(found, best[std::pair(0, count)] * 1.3 + 3 * 2000) << "seed " << seed;
    EXPECT_GE(found, best[std::pair(0, count)] * 0.999) << "seed " << seed;
  }
}

TEST(ContractionOrder, CostsNoMoreThanTheSumAsItIsWritten) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const FactorSum sum = random_letters(rng).sum;
    ContractionPart plain;
    for (std::size_t f = 0; f < sum.factors.size(); ++f) plain.factors.push_back(int(f));
    std::set<int> a, b;
    EXPECT_LE(operations(sum, contraction_order(sum), sum.results, a),
              operations(sum, plain, sum.results, b))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace lathe::algebra
