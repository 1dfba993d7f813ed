// Shared sums are the sums they were made from, and cost as little as by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "compiler/cook_toom/matrices.h"
#include "compiler/cook_toom/sums.h"

namespace lathe::cook_toom {
namespace {

using Rows = std::vector<std::vector<double>>;

double value_of(const Sum& sum, const std::vector<double>& values) {
  double out = 0;
  for (const Term& t : sum) {
    EXPECT_LT(static_cast<std::size_t>(t.value), values.size());
    out += t.factor * values[static_cast<std::size_t>(t.value)];
  }
  return out;
}

void check(const Rows& rows, Rng& rng) {
  const SharedSums shared = share_sums(rows);
  ASSERT_EQ(shared.outputs.size(), rows.size());
  std::vector<double> values;
  for (int i = 0; i < shared.inputs; ++i) values.push_back(rng.uniform() - 0.5);
  const std::vector<double> inputs = values;
  for (const Sum& sum : shared.temporaries) values.push_back(value_of(sum, values));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    double want = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) want += rows[r][i] * inputs[i];
    EXPECT_NEAR(value_of(shared.outputs[r], values), want, 1e-12 * (1 + std::abs(want)));
  }
}

Rows numbers(const Matrix& matrix) {
  Rows rows;
  for (const auto& row : matrix) {
    rows.emplace_back();
    for (const Rational& x : row) rows.back().push_back(x.value());
  }
  return rows;
}

TEST(SharedSums, AreTheSameSums) {
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    const auto columns = 1 + rng.below(8);
    Rows rows(1 + rng.below(8));
    for (auto& row : rows)
      for (std::uint64_t i = 0; i < columns; ++i)
        row.push_back((static_cast<double>(rng.below(7)) - 3) /
                      static_cast<double>(1 + rng.below(3)));
    check(rows, rng);
  }
}

TEST(SharedSums, NothingIsZero) {
  const SharedSums shared = share_sums({{0, 0}, {0, 1}});
  EXPECT_TRUE(shared.outputs[0].empty());
  EXPECT_EQ(shared.operations(), 0);
}

// Lavin and Gray (arXiv:1509.09308, section 4) count 4 operations for the input of F(2, 3), and 12
// and 10 for input and output of F(4, 3).
TEST(SharedSums, CostWhatTheyCostByHand) {
  const auto operations = [](int outputs, int taps) {
    const Matrices f = matrices(outputs, taps);
    return std::pair(share_sums(numbers(f.input)).operations(),
                     share_sums(numbers(f.output)).operations());
  };
  EXPECT_EQ(operations(2, 3), std::pair(4, 4));
  EXPECT_EQ(operations(4, 3), std::pair(12, 10));
  EXPECT_EQ(operations(6, 3), std::pair(24, 20));
}

}  // namespace
}  // namespace lathe::cook_toom
