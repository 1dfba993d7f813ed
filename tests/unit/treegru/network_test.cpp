#include "tuner/treegru/network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "unit/treegru/synthetic_trees.h"

namespace lathe::treegru {
namespace {

const Shape kShapes[] = {{.variant = Variant::kContext, .hidden = 16, .slots = 3},
                         {.variant = Variant::kContext, .hidden = 128, .slots = 8},
                         {.variant = Variant::kContext, .hidden = 48, .slots = 40},
                         {.variant = Variant::kVanilla, .embedding = 7, .hidden = 32},
                         {.variant = Variant::kVanilla, .embedding = 128, .hidden = 128}};

Weights weights_for(const Shape& shape, const std::vector<float>& features,
                    std::uint64_t seed = 1) {
  Rng rng(seed);
  return random_weights(shape, features, rng);
}

std::vector<float> scores_of(const Network& network, std::span<const float> features) {
  std::vector<float> scores(features.size() / static_cast<std::size_t>(feature::tree_width()), NAN);
  network.score(features, scores);
  return scores;
}

std::span<const float> row_of(const std::vector<float>& features, int row) {
  const auto width = static_cast<std::size_t>(feature::tree_width());
  return std::span(features).subspan(static_cast<std::size_t>(row) * width, width);
}

// The formulas of weights.h as they stand there, one program and one loop after another.
class Plainly {
 public:
  Plainly(const Weights& weights, std::span<const float> row) : w_(weights), row_(row) {}

  double score() {
    double score = w_.offset.values[0];
    std::vector<double> top(static_cast<std::size_t>(w_.shape.hidden));
    for (int n = 0; n < feature::kTreeNodes && parent(n) != feature::kNoNode; ++n) {
      const auto h = state(n);
      if (w_.shape.variant == Variant::kContext) score += softly(h);
      else if (parent(n) == feature::kAtTop)
        for (std::size_t i = 0; i < h.size(); ++i) score += h[i] * w_.readout.values[i];
    }
    return score;
  }

 private:
  using Numbers = std::vector<double>;
  float parent(int n) const {
    return row_[static_cast<std::size_t>(n * feature::kTreeNodeWidth + feature::kNodeParent)];
  }

  Numbers input(int n) const {
    const float* node = row_.data() + n * feature::kTreeNodeWidth;
    Numbers x(static_cast<std::size_t>(w_.embedding.columns));
    if (const int v = w_.variable(node[feature::kNodeVariable]); v >= 0)
      x.assign(w_.embedding.row(v).begin(), w_.embedding.row(v).end());
    for (std::size_t i = 0; i < w_.mean.size(); ++i)
      x.push_back((node[feature::kNodeContext + i] - w_.mean[i]) * w_.scale[i]);
    return x;
  }

  static double dot(const Numbers& x, const Matrix& matrix, int column) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += x[i] * matrix.row(static_cast<int>(i))[static_cast<std::size_t>(column)];
    return sum;
  }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  Numbers state(int n) const {
    const auto hidden = static_cast<std::size_t>(w_.shape.hidden);
    Numbers inside(hidden), out(hidden);
    for (int child = n + 1; child < feature::kTreeNodes && parent(child) != feature::kNoNode;
         ++child) {
      if (parent(child) != static_cast<float>(n)) continue;
      const Numbers h = state(child);
      for (std::size_t i = 0; i < hidden; ++i) inside[i] += h[i];
    }
    const Numbers x = input(n);
    const int size = w_.shape.hidden;
    for (int i = 0; i < size; ++i) {
      const auto gate = [&](int which) {
        return dot(x, w_.input, which * size + i) +
               w_.bias.values[static_cast<std::size_t>(which * size + i)];
      };
      const double r = sigmoid(gate(0) + dot(inside, w_.hidden, i)),
                   u = sigmoid(gate(1) + dot(inside, w_.hidden, size + i));
      const double c = std::tanh(gate(2) + r * dot(inside, w_.hidden, 2 * size + i));
      out[static_cast<std::size_t>(i)] = u * inside[static_cast<std::size_t>(i)] + (1 - u) * c;
    }
    return out;
  }

  double softly(const Numbers& h) const {
    double sum = 0, weighted = 0;
    for (int slot = 0; slot < w_.shape.slots; ++slot) {
      const double weight = std::exp(dot(h, w_.scatter, slot));
      double read = 0;
      for (std::size_t i = 0; i < h.size(); ++i) read += h[i] * w_.readout.row(slot)[i];
      sum += weight;
      weighted += weight * read;
    }
    return weighted / sum;
  }

  const Weights& w_;
  std::span<const float> row_;
};

TEST(Network, FollowsItsFormulas) {
  for (const Shape& shape : kShapes) {
    const auto rows = tree_rows(12, 1, 3, 9);
    const Weights weights = weights_for(shape, rows.features);
    const auto scores = scores_of(Network(weights), rows.features);
    for (int i = 0; i < rows.count(); ++i)
      EXPECT_NEAR(scores[static_cast<std::size_t>(i)],
                  Plainly(weights, row_of(rows.features, i)).score(), 2e-5)
          << shape.hidden << " " << i;
  }
}

TEST(Network, ARowsScoreDependsOnNoOther) {
  for (const Shape& shape : kShapes) {
    const auto rows = tree_rows(203, 1, 4, feature::kTreeNodes);
    const Network network(weights_for(shape, rows.features));
    const auto together = scores_of(network, rows.features);
    Rng rng(5);
    for (int i = 0; i < rows.count(); ++i)
      ASSERT_EQ(scores_of(network, row_of(rows.features, i))[0],
                together[static_cast<std::size_t>(i)])
          << i;
    std::vector<int> order(static_cast<std::size_t>(rows.count()));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    const auto shuffled = scores_of(network, model::select(rows, order).features);
    for (std::size_t i = 0; i < order.size(); ++i)
      ASSERT_EQ(shuffled[i], together[static_cast<std::size_t>(order[i])]);
  }
}

TEST(Network, TheTreeMatters) {
  auto rows = tree_rows(1, 1, 6, 2);
  rows.features.assign(static_cast<std::size_t>(feature::tree_width()), 0);
  for (int n = 0; n < feature::kTreeNodes; ++n) {
    float* node = rows.features.data() + n * feature::kTreeNodeWidth;
    node[feature::kNodeParent] = n < 3 ? static_cast<float>(n - 1) : feature::kNoNode;
    node[feature::kNodeContext] = static_cast<float>(n);
  }
  const Network network(weights_for({}, rows.features));
  const float chain = scores_of(network, rows.features)[0];
  rows.features[2 * feature::kTreeNodeWidth + feature::kNodeParent] = 0;  // siblings now
  EXPECT_NE(scores_of(network, rows.features)[0], chain);
}

TEST(Network, AwkwardTrees) {
  const auto width = static_cast<std::size_t>(feature::tree_width());
  // No loop, one loop, a chain as long as a row, nothing but siblings.
  std::vector<float> features(4 * width);
  for (int row = 0; row < 4; ++row)
    for (int n = 0; n < feature::kTreeNodes; ++n) {
      const bool there = row >= 2 || (row == 1 && n == 0);
      float* node =
          features.data() + static_cast<std::size_t>(row) * width + n * feature::kTreeNodeWidth;
      node[feature::kNodeParent] = !there     ? feature::kNoNode
                                   : row == 3 ? feature::kAtTop
                                              : static_cast<float>(n - 1);
      node[feature::kNodeContext] = 1e4F * static_cast<float>(n);  // far from what is usual
    }
  for (const Shape& shape : kShapes) {
    const Network network(weights_for(shape, features));
    const auto scores = scores_of(network, features);
    EXPECT_EQ(scores[0], network.weights().offset.values[0]);
    for (const float score : scores) EXPECT_TRUE(std::isfinite(score));
    EXPECT_TRUE(scores_of(network, {}).empty());
  }
}

TEST(Network, ScoresFromManyThreads) {
  const auto rows = tree_rows(150, 1, 7);
  const Network network(weights_for({}, rows.features));
  const auto expected = scores_of(network, rows.features);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] { EXPECT_EQ(scores_of(network, rows.features), expected); });
}

TEST(Weights, AnUnknownVariableHasNoEmbedding) {
  const auto rows = tree_rows(20, 1, 8);
  const Weights weights = weights_for({.variant = Variant::kVanilla}, rows.features);
  EXPECT_EQ(weights.variables.size(), std::size(kNames));
  EXPECT_GE(weights.variable(feature::variable_code("i.o")), 0);
  EXPECT_EQ(weights.variable(feature::variable_code("another")), -1);
}

TEST(Weights, ComeBackAsTheyWereSaved) {
  for (const Shape& shape : kShapes) {
    const auto rows = tree_rows(20, 1, 9);
    const Weights weights = weights_for(shape, rows.features);
    std::string bytes;
    append_to(bytes, weights);
    const auto again = read_weights(bytes);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(*again == weights);
    EXPECT_EQ(scores_of(Network(*again), rows.features),
              scores_of(Network(weights), rows.features));
    // Cut short anywhere, too long, or not a number.
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{3}, std::size_t{17}, bytes.size() / 2, bytes.size() - 1})
      EXPECT_FALSE(read_weights(std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(read_weights(bytes + "x"));
    std::string broken = bytes;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    broken.replace(broken.size() - 8, 4, reinterpret_cast<const char*>(&nan), 4);
    EXPECT_EQ(read_weights(broken).error().message,
              "the cost model's weights are damaged: train it again");
  }
}

// Rows of another mean and spread: weights follow, scores stay.
TEST(Weights, AdaptedToOtherRowsScoreTheSame) {
  for (const Shape& shape : kShapes) {
    const auto rows = tree_rows(200, 1, 10);
    auto others = tree_rows(200, 1, 11).features;
    for (std::size_t i = 0; i < others.size(); ++i)
      if (i % feature::kTreeNodeWidth >= feature::kNodeContext) others[i] = 0.5F * others[i] + 1;
    const Weights weights = weights_for(shape, rows.features);
    Rng rng(12);
    const Weights moved = adapted(weights, others, rng);
    EXPECT_NE(moved.mean, weights.mean);
    const auto before = scores_of(Network(weights), others),
               after = scores_of(Network(moved), others);
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-3);
  }
}

TEST(Weights, AVariableThatIsNewBeginsAtRandom) {
  auto rows = tree_rows(50, 1, 13);
  const Weights weights = weights_for({.variant = Variant::kVanilla}, rows.features);
  for (std::size_t i = feature::kNodeVariable; i < rows.features.size();
       i += feature::kTreeNodeWidth)
    if (rows.features[i] == feature::variable_code("i.o"))
      rows.features[i] = feature::variable_code("another");
  Rng rng(14);
  const Weights moved = adapted(weights, rows.features, rng);
  EXPECT_EQ(moved.variable(feature::variable_code("i.o")), -1);
  const int added = moved.variable(feature::variable_code("another"));
  ASSERT_GE(added, 0);
  EXPECT_NE(moved.embedding.row(added)[0], 0);
  const auto kept = [](const Weights& w) {
    const auto row = w.embedding.row(w.variable(feature::variable_code("j.o")));
    return std::vector<float>(row.begin(), row.end());
  };
  EXPECT_EQ(kept(moved), kept(weights));
}

// An input that did not vary has weights that mean nothing: they do not blow up when it begins to.
TEST(Weights, AdaptedToAnInputThatBeginsToVary) {
  auto rows = tree_rows(50, 1, 15), others = tree_rows(50, 1, 16);
  for (std::size_t i = feature::kNodeContext + 3; i < rows.features.size();
       i += feature::kTreeNodeWidth) {
    rows.features[i] = 1 + 1e-3F * rows.features[i];
    others.features[i] *= 1000;
  }
  const Weights weights = weights_for({}, rows.features);
  Rng rng(17);
  const Weights moved = adapted(weights, others.features, rng);
  for (const float v : moved.input.values) EXPECT_LT(std::abs(v), 1);
  for (const float v : moved.bias.values) EXPECT_LT(std::abs(v), 4);
}

// One loop in many had this input set, and now many have: what the others score does not move.
TEST(Weights, AdaptedToAnInputThatWasRare) {
  auto rows = tree_rows(100, 1, 18), others = tree_rows(100, 1, 18);
  std::size_t loop = 0;
  for (std::size_t i = feature::kNodeContext + 4; i < rows.features.size();
       i += feature::kTreeNodeWidth, ++loop) {
    if (rows.features[i - 4 - feature::kNodeContext] == feature::kNoNode) continue;
    rows.features[i] = loop == 0 ? 1 : 0;
    others.features[i] = loop % 3 == 0 ? 1 : 0;
  }
  const Weights weights = weights_for({}, rows.features);
  Rng rng(19);
  const auto before = scores_of(Network(weights), rows.features),
             after = scores_of(Network(adapted(weights, others.features, rng)), rows.features);
  for (std::size_t i = 1; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 0.02);
}

TEST(Weights, RefusesSizesThatDoNotWork) {
  EXPECT_EQ(check({.hidden = 100}).error().message,
            "TreeGRU's hidden size is 100, it must be a multiple of 16 up to 4096");
  EXPECT_FALSE(check({.hidden = 0}));
  EXPECT_FALSE(check({.embedding = 0}));
  EXPECT_FALSE(check({.slots = 0}));
  EXPECT_TRUE(check({}));
}

}  // namespace
}  // namespace lathe::treegru
