// What trains, where this build has it: scores as Network does, finds the slopes, and steps against
// them.
#include "tuner/treegru/trainer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tuner/treegru/network.h"
#include "unit/treegru/synthetic_trees.h"

namespace lathe::treegru {
namespace {

const Shape kTrainedShapes[] = {{.variant = Variant::kContext, .hidden = 32, .slots = 3},
                                {.variant = Variant::kVanilla, .embedding = 9, .hidden = 32}};

class Trainers : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (const auto can = check_trainer(); !can) GTEST_SKIP() << can.error().text();
    rows_ = tree_rows(24, 1, 1);
    Rng rng(2);
    start_ = random_weights(GetParam(), rows_.features, rng);
  }

  std::unique_ptr<Trainer> trainer(int threads = 1) {
    auto made = make_trainer(start_, threads);
    EXPECT_TRUE(made) << made.error().text();
    return std::move(*made);
  }
  // The rows in parts of `size`.
  std::vector<PackedTrees> parts(std::size_t size) const {
    std::vector<PackedTrees> out;
    const std::size_t width = static_cast<std::size_t>(rows_.width);
    for (std::size_t row = 0; row < rows_.seconds.size(); row += size)
      out.push_back(pack_trees(
          start_, std::span(rows_.features)
                      .subspan(row * width, std::min(size, rows_.seconds.size() - row) * width)));
    return out;
  }
  std::vector<float> scores_with(const Weights& weights) const {
    std::vector<float> scores(rows_.seconds.size());
    Network(weights).score(rows_.features, scores);
    return scores;
  }

  model::Rows rows_;
  Weights start_;
};

TEST_P(Trainers, ScoresAsTheNetworkDoes) {
  std::vector<float> scores(rows_.seconds.size());
  const auto trainer = this->trainer();
  ASSERT_TRUE(trainer->forward(parts(7), scores));
  const auto expected = scores_with(start_);
  for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], expected[i], 1e-5);
  Weights unchanged = start_;
  ASSERT_TRUE(trainer->read(unchanged));
  EXPECT_TRUE(unchanged == start_);
}

// The first step of Adam moves every weight by the learning rate, against the sign of its slope.
TEST_P(Trainers, StepsAgainstTheSlopeOfEveryWeight) {
  constexpr float kRate = 1e-4F, kNudge = 2e-2F;
  std::vector<float> scores(rows_.seconds.size()), slopes;
  Rng rng(3);
  for (std::size_t i = 0; i < scores.size(); ++i)
    slopes.push_back(static_cast<float>(rng.normal()));
  const auto loss = [&](const Weights& weights) {
    double sum = 0;
    const auto at = scores_with(weights);
    for (std::size_t i = 0; i < at.size(); ++i) sum += static_cast<double>(slopes[i]) * at[i];
    return sum;
  };
  const auto trainer = this->trainer();
  ASSERT_TRUE(trainer->forward(parts(24), scores));
  ASSERT_TRUE(trainer->step(slopes, kRate));
  Weights after = start_;
  ASSERT_TRUE(trainer->read(after));
  int judged = 0;
  for (std::size_t m = 0; m < start_.trained().size(); ++m) {
    const auto& values = start_.trained()[m]->values;
    for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 20) {
      Weights up = start_, down = start_;
      up.trained()[m]->values[i] += kNudge;
      down.trained()[m]->values[i] -= kNudge;
      const double slope = (loss(up) - loss(down)) / (2 * kNudge);
      if (std::abs(slope) < 2e-2) continue;  // lost in rounding
      EXPECT_NEAR(after.trained()[m]->values[i] - values[i], slope > 0 ? -kRate : kRate, kRate / 20)
          << m << " " << i;
      ++judged;
    }
  }
  EXPECT_GT(judged, 40);
}

TEST_P(Trainers, TheSameWhateverTheThreads) {
  std::vector<Weights> trained;
  for (const int threads : {1, 3}) {
    const auto trainer = this->trainer(threads);
    std::vector<float> scores(rows_.seconds.size());
    for (int step = 0; step < 10; ++step) {
      ASSERT_TRUE(trainer->forward(parts(6), scores));
      ASSERT_TRUE(trainer->step(scores, 1e-2));
    }
    trained.push_back(start_);
    ASSERT_TRUE(trainer->read(trained.back()));
  }
  EXPECT_TRUE(trained[0] == trained[1]);
  EXPECT_FALSE(trained[0] == start_);
}

INSTANTIATE_TEST_SUITE_P(Forms, Trainers, testing::ValuesIn(kTrainedShapes), [](const auto& info) {
  return info.param.variant == Variant::kContext ? "Context" : "Vanilla";
});

}  // namespace
}  // namespace lathe::treegru
