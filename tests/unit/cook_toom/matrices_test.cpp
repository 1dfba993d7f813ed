// F(m, r) computes its sums exactly, whatever the points.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/cook_toom/matrices.h"

namespace lathe::cook_toom {
namespace {

std::vector<Rational> times(const Matrix& matrix, const std::vector<Rational>& x) {
  std::vector<Rational> out;
  for (const auto& row : matrix) {
    EXPECT_EQ(row.size(), x.size());
    Rational sum;
    for (std::size_t i = 0; i < x.size(); ++i) sum = sum + row[i] * x[i];
    out.push_back(sum);
  }
  return out;
}

std::vector<Rational> small_numbers(int count, Rng& rng) {
  std::vector<Rational> out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<std::int64_t>(rng.below(19)) - 9);
  return out;
}

void check(const Matrices& f, int outputs, int taps, Rng& rng) {
  const int count = outputs + taps - 1;
  const std::vector<Rational> x = small_numbers(count, rng), w = small_numbers(taps, rng);
  std::vector<Rational> products = times(f.input, x);
  const std::vector<Rational> filter = times(f.filter, w);
  for (std::size_t p = 0; p < products.size(); ++p) products[p] = products[p] * filter[p];
  const std::vector<Rational> y = times(f.output, products);
  ASSERT_EQ(static_cast<int>(y.size()), outputs);
  for (int i = 0; i < outputs; ++i) {
    Rational want;
    for (int j = 0; j < taps; ++j)
      want = want + w[static_cast<std::size_t>(j)] * x[static_cast<std::size_t>(i + j)];
    EXPECT_EQ(y[static_cast<std::size_t>(i)], want) << "F(" << outputs << ", " << taps << ")";
  }
}

TEST(CookToom, SumsAreExact) {
  Rng rng(1);
  for (int outputs = 1; outputs <= 8; ++outputs)
    for (int taps = 1; outputs + taps - 1 <= 9; ++taps)
      check(matrices(outputs, taps), outputs, taps, rng);
}

TEST(CookToom, AnyDifferentPointsDo) {
  Rng rng(2);
  check(matrices(3, 4, {5, {2, 3}, -7, {1, 9}, 0}), 3, 4, rng);
  check(matrices(2, 1, {3}), 2, 1, rng);
}

TEST(CookToom, EqualPointsAreRefused) { EXPECT_ANY_THROW(matrices(2, 2, {1, 1})); }

TEST(CookToom, EverySizeHasPoints) {
  for (int count = 1; count <= kMostPositions; ++count) {
    const Matrices f = matrices(count, 1);
    EXPECT_EQ(static_cast<int>(f.input.size()), count);
  }
  EXPECT_ANY_THROW(matrices(kMostPositions, 2));
}

TEST(Rational, IsInLowestTerms) {
  EXPECT_EQ(Rational(6, -4), Rational(-3, 2));
  EXPECT_EQ(Rational(6, -4).bottom(), 2);
  EXPECT_EQ(Rational(1, 3) + Rational(1, 6), Rational(1, 2));
  EXPECT_EQ(Rational(1, 3) - Rational(1, 3), Rational(0));
  EXPECT_EQ(Rational(2, 3) / Rational(4, 9), Rational(3, 2));
  EXPECT_DOUBLE_EQ(Rational(-1, 8).value(), -0.125);
}

TEST(Rational, OverflowIsNoNumber) {
  const Rational large(std::int64_t{1} << 62);
  EXPECT_ANY_THROW(large * Rational(4));
  EXPECT_ANY_THROW(large + large);
  EXPECT_ANY_THROW(Rational(1, 0));
  EXPECT_EQ(large * Rational(1, std::int64_t{1} << 62), Rational(1));
}

}  // namespace
}  // namespace lathe::cook_toom
