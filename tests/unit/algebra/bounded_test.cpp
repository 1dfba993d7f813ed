// Reductions up to bounds become scans and windows, and sums of products several sums: what is
// rewritten, and that random ones compute the same.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/algebra/algebra.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/nest_eval.h"

namespace lathe::algebra {
namespace {

te::Workload workload_of(const std::string& text) {
  auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text() << "\n" << text;
  return *workload;
}

std::string steps_of(const std::string& text) {
  std::string out;
  for (const schedule::Step& step : rewritten(workload_of(text)).steps)
    out += (out.empty() ? "" : "; ") + schedule::print(step);
  return out;
}

// What a nest after steps computes, compared with what the text says. True if it is the same.
void expect_same(const te::Workload& workload, const ir::Nest& nest, std::uint64_t seed,
                 const std::string& what) {
  Rng rng(seed);
  const auto inputs = interp::random_inputs(workload, rng);
  const auto want = interp::evaluate(workload, inputs);
  ASSERT_TRUE(want) << want.error().text();
  const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
  ASSERT_TRUE(got) << got.error().text() << "\n" << what;
  ASSERT_EQ(interp::compare((*want)[0], (*got)[0].values, 2), "") << "seed " << seed << "\n"
                                                                  << what;
}

TEST(Bounded, SumsOverTrianglesAreScans) {
  const std::string x = "X: f32[40,500]\nY[i,t:500] = ";
  for (const char* sum :
       {"sum(s:500) select(s<=t, X[i,s], 0)", "sum(s:500) select(t>=s, X[i,s], 0)",
        "sum(s:500) select(!(s>t), X[i,s], 0)", "sum(s:500) select(s>t, 0, X[i,s])",
        "sum(s:500) select(t-s>=0, X[i,s], 0)", "sum(s:500) select(s<t+1, X[i,s], 0)",
        "max(s:500) select(s<=t, X[i,s], -inf)", "prod(s:500) select(s<=t, X[i,s], 1)",
        "min(s:500) select(s>=t, X[i,s], inf)", "sum(s:500) f32(s<=t) * X[i,s]"})
    EXPECT_EQ(steps_of(x + sum), "scan Y along s") << sum;
  EXPECT_EQ(steps_of(x + "sum(s:500) select(s<t, X[i,s], 0)"), "scan Y along s as Y.scan");
  // What the terms depend on in any other way stays; so does a chain of very many terms.
  EXPECT_EQ(steps_of("X: f32[500,500]\nY[t] = sum(s) select(s<=t, X[t,s], 0)"), "");
  EXPECT_EQ(steps_of("X: f32[1100000]\nY[t:1100000] = sum(s) select(s<=t, X[s], 0)"), "");
  EXPECT_EQ(steps_of("X: f32[1100000]\nY[t:1100000] = max(s) select(s<=t, X[s], -inf)"),
            "scan Y along s");
  EXPECT_EQ(steps_of("X: i32[40,9000]\nY[i,t:9000] = sum(s:9000) select(s<=t, X[i,s], 0)"),
            "scan Y along s");
}

TEST(Bounded, ReductionsBetweenBoundsRunOverTheWindow) {
  EXPECT_EQ(steps_of("X: f32[64,35]\nY[c,y:6] = "
                     "sum(h:35) select(h >= y*35/6 && h < ((y+1)*35+5)/6, X[c,h], 0)"),
            "window of Y along h");
  EXPECT_EQ(steps_of("X: f32[64,35,37]\nY[c,y:6,x:6] = max(h:35,w:37) select(w >= x*37/6 && "
                     "((y+1)*35+5)/6 > h && w < ((x+1)*37+5)/6 && y*35/6 <= h, X[c,h,w], -inf)"),
            "window of Y along h; window of Y along w");
}

TEST(Bounded, BandsAndBlocksAndOneHotsAreWindows) {
  EXPECT_EQ(
      steps_of("A: f32[60,60]; x: f32[60]\nY[i] = sum(j) select(abs(i-j) <= 3, A[i,j]*x[j], 0)"),
      "window of Y along j");
  EXPECT_EQ(steps_of("X: f32[16,64]\nY[c,y:16] = sum(h:64) select(h/4 == y, X[c,h], 0)"),
            "window of Y along h");
  EXPECT_EQ(steps_of("X: f32[16,35]\n"
                     "Y[c,y:6] = max(h:35) select(6*h >= 35*y && 6*h < 35*(y+1), X[c,h], -inf)"),
            "window of Y along h");
  EXPECT_EQ(steps_of("I: i32[50] in 0..99; W: f32[100,64]\n"
                     "Y[i,o] = sum(k) f32(i64(I[i]) == k) * W[k,o]"),
            "window of Y along k");
}

TEST(Bounded, WindowsThatSlideAreThoseOfAConvolution) {
  const auto body = [](const std::string& text) {
    const te::Workload made = rewritten(workload_of(text)).workload;
    return te::print_workload(made);
  };
  EXPECT_NE(body("X: f32[4,50]\nY[i,t:50] = sum(s:50) select(s <= t && s > t-6, X[i,s], 0)")
                .find("sum(s:6) X[i,t + s - 5 else 0]"),
            std::string::npos);
  EXPECT_NE(
      body("h: f32[6]; x: f32[50]\nY[t:50] = sum(s:50) h[t-s else 0] * x[s]").find("x[t + s - 5]"),
      std::string::npos);
  EXPECT_EQ(steps_of("A: f32[60,60]; B: f32[60,20]\n"
                     "Y[i,o] = sum(j) select(j <= i, A[i,j]*B[j,o], 0)"),
            "window of Y along j");
}

TEST(Bounded, SumsOfProductsAreSeveral) {
  EXPECT_EQ(steps_of("X: f32[16,64]; W: f32[99,64]; H: f32[16,64]; U: f32[99,64]\n"
                     "Y[b,o] = sum(k) (X[b,k]*W[o,k] + H[b,k]*U[o,k])"),
            "distribute Y as Y.term1, Y.term2");
  EXPECT_EQ(steps_of("a: f32[16,64]; b: f32[16,64]; w: f32[16,64]\n"
                     "Y[i] = sum(k) (a[i,k]*w[i,k] + b[i,k])"),
            "");
}

// The declarations of what a body reads, of "A: f32[3]" and the like.
std::string used(const std::vector<std::string>& declarations, const std::string& body) {
  std::string out;
  for (const std::string& declared : declarations)
    if (body.find(declared.substr(0, declared.find(':')) + "[") != std::string::npos)
      out += declared + "\n";
  return out;
}

const char* pick(Rng& rng, std::initializer_list<const char*> of) {
  return of.begin()[rng.below(of.size())];
}

// A condition on s, or its negation.
std::string comparison(Rng& rng, const std::string& limit) {
  const char* const forms[] = {"s <= {0}",
                               "s < {0}",
                               "s >= {0}",
                               "s > {0}",
                               "{0} - s >= 0",
                               "{0} - s < 0",
                               "{0} > s",
                               "s - {0} <= 1",
                               "!(s > {0})",
                               "!(s <= {0})",
                               "s == {0}",
                               "{0} + 1 < s + 1",
                               "s / 3 == {0}",
                               "s / 2 < {0}",
                               "{0} <= s / 4",
                               "2 * s <= {0}",
                               "3 * s > {0}",
                               "abs(s - {0}) <= 2",
                               "!(abs({0} - s) > 1)"};
  return fmt::format(fmt::runtime(forms[rng.below(19)]), limit);
}

std::string limit_of(Rng& rng) {
  const char* const forms[] = {"t",        "(t + {})",    "(t - {})",       "(2*t - {})",
                               "({} - t)", "(t*5/{})",    "max(t - {}, 0)", "min(t + 1, {})",
                               "(t % {})", "(t + u - {})"};
  return fmt::format(fmt::runtime(forms[rng.below(10)]), rng.between(1, 7));
}

std::string random_bounded(Rng& rng) {
  std::string condition = comparison(rng, limit_of(rng));
  while (rng.chance(0.45))
    condition += pick(rng, {" && ", " && ", " && ", " || "}) + comparison(rng, limit_of(rng));
  if (rng.chance(0.2)) condition += " && u < 2";
  const bool real = rng.chance(0.6);
  const char* reduce = pick(rng, {"sum", "sum", "sum", "max", "min", "prod"});
  const std::string kind = reduce;
  const char* neutral = kind == "sum"    ? "0"
                        : kind == "prod" ? "1"
                        : kind == "max"  ? (real ? "-inf" : "-2147483648")
                                         : (real ? "inf" : "2147483647");
  std::string term =
      pick(rng, {"X[s,u]", "X[s,u]", "X[s,u] * V[s]", "X[s,u] * V[k]", "X[s,u] * G[t]", "V[s]",
                 "X[s,u] * G[s - 1 else 0]", "X[s,u] * G[t - s + 2 else 0]",
                 "G[s - t else 0] * V[s]", "X[s,u] * T[max(min(t - s, 12), 0)]"});
  const bool also_k = term.find("[k]") != std::string::npos;
  const std::string type = real ? "f32" : "i32";
  const std::string flag = type + "(" + condition + ")";
  std::string body = rng.chance(0.5)
                         ? fmt::format("select({}, {}, {})", condition, term, neutral)
                         : fmt::format("select(!({}), {}, {})", condition, neutral, term);
  if (kind == "sum" && rng.chance(0.2)) body = flag + " * " + term;
  if (kind == "sum" && rng.chance(0.2)) body += " * G[t]";
  const auto sizes = {1, 2, 5, 7, 13, 19};
  const auto size = [&] { return sizes.begin()[rng.below(sizes.size())]; };
  const int s = size(), t = size(), u = size();
  const std::string x = fmt::format("X: {}[{},{}]", type, s, u);
  const auto result = pick(rng, {"t:{0},u:{1}", "u:{1},t:{0}"});
  return used({x, "V: " + type + "[19]", "G: " + type + "[19]", "T: " + type + "[13]"}, body) +
         fmt::format("Y[{}] = {}(s:{}{}) {}", fmt::format(fmt::runtime(result), t, u), reduce, s,
                     also_k ? ",k:3" : "", body);
}

TEST(Bounded, RandomReductionsComputeTheSame) {
  int scans = 0, windows = 0;
  for (std::uint64_t seed = 0; seed < 1200; ++seed) {
    Rng rng(seed);
    const std::string text = random_bounded(rng);
    auto parsed = te::parse_workload(text);
    if (!parsed) {
      ADD_FAILURE() << parsed.error().text() << "\n" << text;
      return;
    }
    const ir::Nest nest = te::naive_nest(*parsed);
    for (const schedule::Step& step : {schedule::Step(schedule::Scan{"Y", "s", ""}),
                                       schedule::Step(schedule::Scan{"Y", "s", "S"}),
                                       schedule::Step(schedule::Window{"Y", "s"})}) {
      ir::Nest made = nest;
      if (!schedule::apply(made, step)) continue;
      (std::holds_alternative<schedule::Scan>(step) ? scans : windows) += 1;
      ASSERT_TRUE(ir::verify(made)) << ir::verify(made).error().text() << "\n" << text;
      expect_same(*parsed, made, seed,
                  text + "\n" + schedule::print(step) + "\n" + ir::print(made));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(scans, 100);
  EXPECT_GT(windows, 100);
}

TEST(Bounded, WhatIsRewrittenIsAnExpression) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    const te::Workload workload = workload_of(random_bounded(rng));
    ir::Nest nest = te::naive_nest(workload);
    schedule::Trace steps;
    rewrite(nest, steps, false);
    if (steps.empty()) continue;
    ++count;
    const te::Workload made = rewritten(workload).workload;
    expect_same(workload, nest, seed, ir::print(nest));
    expect_same(workload, te::naive_nest(made), seed, ir::print(nest));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(count, 20);
}

TEST(Bounded, SumsOfTermsComputeTheSame) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const char* const terms[] = {"A[i,k]*B[j,k]", "C[i,k]*D[j,k]", "c[k]", "0.5", "A[i,k]", "E[j]"};
    std::string body = rng.chance(0.3) ? "-1 * A[i,k]*B[j,k]" : "A[i,k]*B[j,k]";
    std::vector<std::string> names = {"T1"};
    for (int more = static_cast<int>(rng.between(1, 4)); more > 0; --more) {
      const auto term = rng.below(6);
      body += pick(rng, {" + ", " - "}) + std::string(terms[term]);
      const bool reduces = std::string_view(terms[term]).contains('k');
      if (reduces) names.push_back(fmt::format("T{}", names.size() + 1));
    }
    const auto i = rng.between(1, 7), j = rng.between(1, 7), k = rng.between(1, 9);
    const auto declared = [&](const char* name, auto... sizes) {
      return fmt::format("{}: f32[{}]", name, fmt::join({sizes...}, ","));
    };
    const std::string text = used({declared("A", i, k), declared("B", j, k), declared("C", i, k),
                                   declared("D", j, k), declared("c", k), declared("E", j)},
                                  body) +
                             fmt::format("Y[i:{},j:{}] = sum(k:{}) ({})", i, j, k, body);
    const te::Workload workload = workload_of(text);
    ir::Nest nest = te::naive_nest(workload);
    ASSERT_TRUE(schedule::apply(nest, schedule::Distribute{"Y", names})) << text;
    expect_same(workload, nest, seed, text + "\n" + ir::print(nest));
    if (HasFatalFailure()) return;
    ir::Nest other = te::naive_nest(workload);
    names.pop_back();
    EXPECT_FALSE(schedule::apply(other, schedule::Distribute{"Y", names}));
  }
}

// Reductions of terms that have some of the iterators each, as of all pairs of rows.
std::string random_portions(Rng& rng) {
  const char* const terms[] = {
      "A[i,k]",       "B[i,l]",        "C[k,l]",      "D[k]",
      "exp(A[i,k])",  "B[i,l] * E[i]", "E[i]",        "0.5",
      "A[i,k]*D[k]",  "abs(C[k,l])",   "f32(k) * 2",  "select(k < l, D[k], 1)",
      "min(D[k], 1)", "A[i,k]*B[i,l]", "D[k] * D[l]", "E[j]"};
  std::string body = terms[rng.below(16)];
  for (int more = static_cast<int>(rng.between(0, 4)); more > 0; --more)
    body += pick(rng, {" + ", " - "}) + std::string(terms[rng.below(16)]);
  const auto i = rng.between(1, 7), k = rng.between(1, 7), l = rng.between(1, 7);
  const auto declared = [&](const char* name, auto... sizes) {
    return fmt::format("{}: f32[{}]", name, fmt::join({sizes...}, ","));
  };
  const auto most = std::max({i, k, l});
  return used({declared("A", i, k), declared("B", i, l), declared("C", k, l), declared("D", most),
               declared("E", i)},
              body) +
         fmt::format("Y[i:{},j:{}] = {}(k:{},l:{}) ({})", i, rng.between(1, i),  //
                     pick(rng, {"sum", "max", "min", "max", "prod"}), k, l, body);
}

TEST(Bounded, PortionsComputeTheSame) {
  int apart = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Rng rng(seed);
    const std::string text = random_portions(rng);
    const te::Workload workload = workload_of(text);
    ir::Nest nest = te::naive_nest(workload);
    schedule::Distribute step{"Y", {}};
    for (const schedule::Portion& portion : schedule::portions_of(nest.blocks[0]))
      if (portion.reduces) step.names.push_back(fmt::format("T{}", step.names.size() + 1));
    if (!schedule::apply(nest, step)) continue;
    ++apart;
    expect_same(workload, nest, seed, text + "\n" + ir::print(nest));
    expect_same(workload, te::naive_nest(rewritten(workload).workload), seed, text);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(apart, 300);
}

TEST(Bounded, CollectedTermsComputeTheSame) {
  int made = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed);
    const char* const terms[] = {"A[i,k]*C[k,j]", "B[i,k]*C[k,j]",   "C[k,j]",
                                 "D[i,k]/B[k,k]", "C[k,j]*A[i,k]*2", "A[i,k]/B[k,k]*C[k,j]"};
    std::string body = terms[rng.below(6)];
    for (int more = static_cast<int>(rng.between(1, 4)); more > 0; --more)
      body += pick(rng, {" + ", " - "}) + std::string(terms[rng.below(6)]);
    const auto i = rng.between(1, 7), j = rng.between(1, 7), k = rng.between(1, 9);
    const auto declared = [&](const char* name, std::int64_t first, std::int64_t second) {
      return fmt::format("{}: f32[{},{}] in 1..2", name, first, second);
    };
    const std::string text =
        used({declared("A", i, k), declared("B", std::max(i, k), k), declared("C", k, j),
              declared("D", i, k)},
             body) +
        fmt::format("Y[i:{},j:{}] = {}(k:{}) ({})", i, j, pick(rng, {"sum", "max"}), k, body);
    const te::Workload workload = workload_of(text);
    ir::Nest nest = te::naive_nest(workload);
    if (!schedule::apply(nest, schedule::Collect{"Y", 0, rng.between(0, 1)})) continue;
    ++made;
    expect_same(workload, nest, seed, text + "\n" + ir::print(nest));
    expect_same(workload, te::naive_nest(rewritten(workload).workload), seed, text);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(made, 150);
}

TEST(Bounded, TakesCommonFactorsOutOfTerms) {
  EXPECT_EQ(steps_of("A: f32[99,256]; B: f32[256,99]; C: f32[256,88]\n"
                     "Y[i,j] = sum(k) (A[i,k]*C[k,j] + 2*B[k,i]*C[k,j])"),
            "collect factor 1 of term 0 of Y; precompute expression 1 of Y as Y.kept");
  EXPECT_EQ(steps_of("A: f32[99,64]; B: f32[88,64]\n"
                     "Y[i,j] = sum(k) (A[i,k]*A[i,k] - 2*A[i,k]*B[j,k])")
                .find("collect"),
            std::string::npos);
}

TEST(Bounded, WhatNeedsOtherIteratorsIsReducedApart) {
  const std::string rows = "A: f32[30,200]; B: f32[30,180]\n";
  for (const char* reduce : {"max", "min", "sum"}) {
    EXPECT_EQ(steps_of(rows + "Y[a] = " + reduce + "(b,c) (A[a,b] - B[a,c])"),
              "distribute Y as Y.term1, Y.term2");
    EXPECT_EQ(steps_of("A: f32[30,200]\nY[a,c:50] = " + std::string(reduce) + "(k) abs(A[a,k])"),
              "distribute Y as Y.term1");
  }
  EXPECT_EQ(steps_of("A: f32[30,200]; b: f32[30]\nY[a,c:50] = max(k) (A[a,k] + b[a] + 1)"),
            "distribute Y as Y.term1");
  EXPECT_EQ(steps_of("A: f32[30,20]; Y[a,c:50] = prod(k) A[a,k]"), "distribute Y as Y.term1");
  // What needs all, integers that may wrap, and a term of few operations.
  EXPECT_EQ(steps_of("A: f32[30,200]; B: f32[200,30]\nY[a,c] = max(k) (A[a,k] + B[k,c])"), "");
  EXPECT_EQ(steps_of("A: i32[30,200]; B: i32[30,180]\nY[a] = max(b,c) (A[a,b] + B[a,c])"), "");
  EXPECT_EQ(steps_of("X: f32[30,99]\nY[a,x] = sum(r:9) (X[a,x+r] + 1)"), "");
}

}  // namespace
}  // namespace lathe::algebra
