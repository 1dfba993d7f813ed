// Sizes of iterators that are not written: the largest with which every read stays inside.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "oracle/te_eval.h"

namespace lathe::te {
namespace {

using Shape = std::vector<std::int64_t>;

Workload workload_of(const std::string& text) {
  auto workload = parse_workload(text);
  LATHE_CHECK(workload.has_value(), "{}\n{}", text, workload.error().text());
  return std::move(*workload);
}

Shape shape_of(const Workload& workload, std::string_view tensor) {
  return workload.tensors[static_cast<std::size_t>(workload.find(tensor))].shape;
}

std::string refused(const std::string& text) {
  const auto workload = parse_workload(text);
  return workload ? "" : workload.error().text();
}

TEST(Extents, ChainsOfStencils) {
  const Workload blur = workload_of(
      "X: f32[66,130]; B[y,x] = (X[y,x]+X[y,x+1]+X[y,x+2])/3\n"
      "Y[y,x] = (B[y,x]+B[y+1,x]+B[y+2,x])/3");
  EXPECT_EQ(shape_of(blur, "B"), (Shape{66, 128}));
  EXPECT_EQ(shape_of(blur, "Y"), (Shape{64, 128}));
  const Workload laplace = workload_of(
      "X: f32[7,9]; L[y,x] = X[y,x+1] + X[y+2,x+1] + X[y+1,x] + X[y+1,x+2] - 4*X[y+1,x+1]\n"
      "M[y,x] = L[y,x+1] + L[y+2,x+1] + L[y+1,x] + L[y+1,x+2] - 4*L[y+1,x+1] + X[y+2,x+2]");
  EXPECT_EQ(shape_of(laplace, "M"), (Shape{3, 5}));
}

TEST(Extents, Pyramids) {
  const Workload p = workload_of(
      "X: f32[13,17]\nA[y,x] = (X[2*y,2*x] + X[2*y+1,2*x] + X[2*y,2*x+1] + X[2*y+1,2*x+1]) / 4\n"
      "B[y,x] = A[2*y,x] + A[2*y+1,x] - X[4*y+1,2*x]\nC[y] = B[y,0] - B[2*y,1]; D[x] = B[2,7-x]");
  EXPECT_EQ(shape_of(p, "A"), (Shape{6, 8}));
  EXPECT_EQ(shape_of(p, "B"), (Shape{3, 8}));
  EXPECT_EQ(shape_of(p, "C"), Shape{2});
  EXPECT_EQ(refused("X: f32[13,17]; A[y,x] = X[2*y,x]; B[y,x] = A[y,x] + X[y,x]"),
            "line 1, column 53: the iterator y has the size 7 from dimension 0 of A[7,17] but 13 "
            "from dimension 0 of X[13,17]; correct a shape, or give the size to use: y:SIZE");
}

TEST(Extents, SeveralTensorsOfDifferentSizes) {
  EXPECT_EQ(shape_of(workload_of("A: f32[10]; B: f32[10]; Y[i] = A[i] + B[i+1]"), "Y"), Shape{9});
  EXPECT_EQ(shape_of(workload_of("A: f32[10]; B: f32[12]; Y[i] = A[i] + B[i+1]"), "Y"), Shape{10});
  EXPECT_EQ(shape_of(workload_of("A: f32[10]; B: f32[12]; Y[i] = A[i] + B[11-3*i]"), "Y"),
            Shape{4});
  EXPECT_EQ(shape_of(workload_of("A: f32[10]; B: f32[6]; Y[i] = A[i] + B[i - 1 else 0]"), "Y"),
            Shape{10});
  EXPECT_EQ(shape_of(workload_of("A: f32[10,10]; Y[i] = A[i,i+3]"), "Y"), Shape{7});
}

// The taps of a sum are all there; what they are added to has fewer places.
TEST(Extents, WindowsBesideTheirImage) {
  const Workload p = workload_of("X: f32[32]; w: f32[5]; Y[x] = (sum(s) X[x+s] * w[s]) * X[x]");
  EXPECT_EQ(shape_of(p, "Y"), Shape{28});
  EXPECT_EQ(p.stages.front().iters.back().extent, 5);
  EXPECT_EQ(shape_of(workload_of("X: f32[9]; Y[x,d:4] = X[x] * X[x+d]"), "Y"), (Shape{6, 4}));
  // Neighbours within a sum: total variation, and a recurrence of products.
  EXPECT_EQ(workload_of("X: f32[9]; S[o:1] = sum(i) abs(X[i+1] - X[i])").stages[0].iters[1].extent,
            8);
  EXPECT_EQ(
      workload_of("X: f32[9]; Z: f32[5]; Y[y] = sum(r) X[y+r] * Z[y]").stages[0].iters[1].extent,
      5);
}

TEST(Extents, DeclaredOutputsAgreeWithTheReads) {
  const std::string reads = "; X: f32[130]; Y[x] = f16(X[x] + X[x+1] + X[x+2])";
  EXPECT_EQ(shape_of(workload_of("output Y: f16[128]" + reads), "Y"), Shape{128});
  EXPECT_NE(refused("output Y: f16[127]" + reads).find("x has the size 127 from dimension 0 of Y"),
            std::string::npos);
  EXPECT_NE(refused("output Y: f16[130]" + reads).find("X[130], x + 1, reaches 130, 1 past"),
            std::string::npos);
}

TEST(Extents, WhatIsStillRefused) {
  for (const auto& [text, says] : {
           std::pair{"A: f32[10]; B: f32[12]; Y[i] = A[i] + B[i]",
                     "i has the size 10 from dimension 0 of A[10] but 12 from dimension 0 of B"},
           {"A: f32[10]; B: f32[12]; Y[i] = A[i] + B[i] + A[i+1]", "but 12 from dimension 0 of B"},
           // Which of the two should give way?
           {"A: f32[4]; B: f32[5]; C: f32[7]; Y[i,j] = A[i] + B[j] + C[i+j]",
            "C[7], i + j, reaches 7, 1 past its end"},
           {"X: f32[8]; Y[i,j] = X[i+j]", "the size of the iterator i does not follow"},
           {"X: f32[8]; W: f32[3]; Y[y:8] = sum(r) X[y+r] * W[r]", "X[8], y + r, reaches 9"},
           {"X: f32[2]; Y[x] = X[x] + X[x+2]", "X[2], x + 2, reaches 3, 2 past its end"},
           {"X: f32[8]; Y[x] = X[x] + X[x-1]", "X[8], x - 1, reaches -1, 1 before its start"},
           {"X: f32[3]; w: f32[5]; Y[x] = sum(s) X[x+s] * w[s]",
            "x is read outside of X[3] even where x is 0, so no size of x keeps it inside"},
       })
    EXPECT_NE(refused(text).find(says), std::string::npos) << text << "\n" << refused(text);
}

struct Term {
  int iter;
  std::int64_t coef;
};
struct Index {
  std::vector<Term> terms;
  std::int64_t offset, size;  // of the dimension
};

// Sums over the tensors `Tn` of a dimension each, with random offsets, strides and windows; what
// the sizes must be is found by counting up.
class RandomStage {
 public:
  explicit RandomStage(std::uint64_t seed) : rng_(seed) {
    spatial_ = static_cast<int>(rng_.between(1, 3));
    const int reduced = static_cast<int>(rng_.between(0, 2));
    for (int i = 0; i < spatial_ + reduced; ++i) {
      extents_.push_back(0);
      alone_.push_back(rng_.chance(0.6) || i >= spatial_);
      if (alone_.back()) add({{i, 1}}, 0, rng_.between(5, 20));
      const auto more = rng_.between(alone_.back() ? 0 : 1, 3);
      for (std::int64_t n = 0; n < more; ++n) add_single(i);
    }
    for (std::int64_t n = rng_.between(0, 3); n > 0 && reduced > 0; --n)
      add({{static_cast<int>(rng_.below(static_cast<std::uint64_t>(spatial_))), rng_.between(1, 2)},
           {spatial_ + static_cast<int>(rng_.below(static_cast<std::uint64_t>(reduced))),
            rng_.between(1, 2)}},
          rng_.between(0, 2), rng_.between(45, 60));
  }

  // Counts up as long as all stays inside: first the iterators of the sum, whose windows come last.
  const std::vector<std::int64_t>& counted() {
    for (int i = static_cast<int>(extents_.size()); i-- > 0;) {
      auto& extent = extents_[static_cast<std::size_t>(i)];
      while (fits(i, extent + 1)) ++extent;
    }
    return extents_;
  }

  std::string text(bool sizes) const {
    std::string declared, spatial, reduced, sum;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      auto& list = static_cast<int>(i) < spatial_ ? spatial : reduced;
      if (!list.empty()) list += ",";
      list += fmt::format("i{}{}", i, sizes ? fmt::format(":{}", extents_[i]) : "");
    }
    for (std::size_t t = 0; t < indices_.size(); ++t) {
      declared += fmt::format("T{}: f32[{}]\n", t, indices_[t].size);
      std::string index = fmt::format("{}", indices_[t].offset);
      for (const Term& term : indices_[t].terms)
        index += fmt::format(" + {}*i{}", term.coef, term.iter);
      sum += fmt::format("{}T{}[{}]", t == 0 ? "" : " * ", t, index);
    }
    return fmt::format("{}Y[{}] = {}{}\n", declared, spatial,
                       reduced.empty() ? "" : "sum(" + reduced + ") ", sum);
  }

 private:
  void add(std::vector<Term> terms, std::int64_t offset, std::int64_t size) {
    indices_.push_back({std::move(terms), offset, size});
  }
  void add_single(int iter) {
    const std::int64_t coef = rng_.between(-2, 3), offset = rng_.between(0, 3);
    if (coef == 0) return add({{iter, 1}}, 1 + offset, rng_.between(5, 20));
    if (coef < 0) return add({{iter, coef}}, 9 + offset, 10 + offset);
    // With an offset, so that it stands not alone.
    add({{iter, coef}}, 1 + offset, rng_.between(5, 40));
  }

  // Iterators of sums look at what they alone index, spatial ones at all.
  bool fits(int iter, std::int64_t extent) const {
    return std::ranges::all_of(indices_, [&](const Index& index) {
      if (std::ranges::find(index.terms, iter, &Term::iter) == index.terms.end()) return true;
      if (iter >= spatial_ && index.terms.size() > 1) return true;
      std::int64_t low = index.offset, high = index.offset;
      for (const Term& term : index.terms) {
        const std::int64_t last =
            (term.iter == iter ? extent : extents_[static_cast<std::size_t>(term.iter)]) - 1;
        (term.coef < 0 ? low : high) += term.coef * last;
      }
      return low >= 0 && high < index.size;
    });
  }

  Rng rng_;
  int spatial_ = 1;
  std::vector<std::int64_t> extents_;
  std::vector<bool> alone_;
  std::vector<Index> indices_;
};

TEST(Extents, RandomReadsAreCountedUp) {
  const char* asked = std::getenv("LATHE_RANDOM_ROUNDS");
  const auto rounds = asked == nullptr ? 2000 : std::strtoull(asked, nullptr, 10);
  int found = 0;
  for (std::uint64_t seed = 1; seed <= rounds && !HasFailure(); ++seed) {
    RandomStage stage(seed);
    const auto counted = stage.counted();
    const auto workload = parse_workload(stage.text(false));
    const bool possible = std::ranges::all_of(counted, [](std::int64_t n) { return n > 0; });
    ASSERT_EQ(workload.has_value(), possible)
        << seed << "\n"
        << stage.text(possible) << (workload ? "" : workload.error().text());
    if (!possible) continue;
    ++found;
    EXPECT_TRUE(equal(*workload, workload_of(stage.text(true)))) << seed << stage.text(true);
  }
  EXPECT_GT(found, static_cast<int>(rounds / 2));
}

TEST(Extents, ABlurIsAPlainLoop) {
  const Workload blur = workload_of(
      "X: f64[7,12]; B[y,x] = (X[y,x]+X[y,x+1]+X[y,x+2])/3; Y[y,x] = (B[y,x]+B[y+1,x]+B[y+2,x])/3");
  Rng rng(3);
  const auto inputs = interp::random_inputs(blur, rng);
  const auto results = interp::evaluate(blur, inputs);
  ASSERT_TRUE(results) << results.error().text();
  ASSERT_EQ(results->front().shape, (Shape{5, 10}));
  for (std::size_t y = 0; y < 5; ++y)
    for (std::size_t x = 0; x < 10; ++x) {
      double sum = 0;
      for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t s = 0; s < 3; ++s) sum += inputs[0].values[(y + r) * 12 + x + s];
      EXPECT_NEAR(results->front().values[y * 10 + x], sum / 9, 1e-12);
    }
}

}  // namespace
}  // namespace lathe::te
