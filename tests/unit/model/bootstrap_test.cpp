#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tuner/model/metrics.h"
#include "tuner/model/model.h"
#include "unit/model/synthetic.h"

namespace lathe::model {
namespace {

TEST(Bootstrap, MeanLearnsThroughput) {
  const auto model = make_bootstrap({});
  ASSERT_TRUE(model->train(synthetic_rows(1200, 3, 1)));
  const Rows fresh = synthetic_rows(600, 3, 2);
  const Quality q = evaluate(scores_of(*model, fresh), fresh.seconds, fresh.workload);
  EXPECT_LT(q.rmse, 0.65 * deviation_of_throughput(fresh));
  EXPECT_GT(q.pairwise_accuracy, 0.8);
}

// The three acquisitions share members for a seed, so they can be held against each other.
TEST(Bootstrap, AcquisitionsFollowFromMeanAndDeviation) {
  const Rows rows = synthetic_rows(300, 1, 3, 0.3), fresh = synthetic_rows(200, 1, 4);
  const auto train = [&](Acquisition acquisition, double confidence) {
    const auto model = make_bootstrap({.acquisition = acquisition, .confidence = confidence});
    EXPECT_TRUE(model->train(rows));
    return scores_of(*model, fresh);
  };
  const auto mean = train(Acquisition::kMean, 0);
  const auto one = train(Acquisition::kUpperConfidence, 1),
             three = train(Acquisition::kUpperConfidence, 3);
  const auto improvement = train(Acquisition::kExpectedImprovement, 0);
  double spread = 0;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double deviation = one[i] - mean[i];
    spread += deviation;
    EXPECT_GE(deviation, 0);
    EXPECT_NEAR(three[i] - mean[i], 3 * deviation, 1e-4);
    // Never below the improvement of the mean alone, and never above that by more than the
    // deviation.
    EXPECT_GE(improvement[i], std::max(mean[i] - 1.0, 0.0) - 1e-6);
    EXPECT_LE(improvement[i], std::max(mean[i] - 1.0, 0.0) + deviation + 1e-6);
  }
  EXPECT_GT(spread, 0);
}

TEST(Bootstrap, SavesAndRefuses) {
  const Rows rows = synthetic_rows(200, 1, 5);
  const auto model = make_bootstrap({.members = 3}), again = make_bootstrap({.members = 3});
  ASSERT_TRUE(model->train(rows));
  const std::string bytes = model->save().value();
  ASSERT_TRUE(again->load(bytes));
  EXPECT_EQ(scores_of(*model, rows), scores_of(*again, rows));
  EXPECT_FALSE(again->load(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(make_xgboost({})->load(bytes));
  EXPECT_EQ(make_bootstrap({.members = 1})->train(rows).error().message,
            "an ensemble has 2 to 64 members, not 1");
}

}  // namespace
}  // namespace lathe::model
