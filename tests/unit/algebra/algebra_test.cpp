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
    const char* const kFactors[] = {"{}[{}]", "{}[{}]", "{}[{}]", "tanh({}[{}])", "abs({}[{}])"};
    read.push_back(fmt::format(fmt::runtime(kFactors[rng.below(5)]), static_cast<char>('A' + f),
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
