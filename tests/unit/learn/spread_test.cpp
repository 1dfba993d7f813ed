#include "tuner/learn/spread.h"

#include <limits>

#include <gtest/gtest.h>

namespace lathe::learn {
namespace {

store::Record measured(std::vector<std::vector<double>> visits, double seconds) {
  store::Record record;
  record.seconds = seconds;
  for (auto& times : visits) record.visits.push_back({0, std::move(times), 0});
  return record;
}

TEST(Spread, OfVisits) {
  // Lower quartiles 1, 1.1 and 1.4: around 1.1 the middle deviation is 0.1, whatever the third did.
  EXPECT_NEAR(spread_of(measured({{1}, {1.1, 1.1, 9}, {1.4}}, 1)), 0.1, 1e-12);
  EXPECT_NEAR(spread_of(measured({{1}, {1.1}, {77}}, 1)), 0.1, 1e-12);
  EXPECT_NEAR(spread_of(measured({{2}, {2.2}}, 2)), 0.05, 1e-12);
}

TEST(Spread, OfOneVisitIsThatOfItsTimes) {
  EXPECT_NEAR(spread_of(measured({{1, 1.2, 1.1}}, 1)), 0.1, 1e-12);
  EXPECT_EQ(spread_of(measured({{1}}, 1)), 0);
}

TEST(Spread, NothingToJudgeBy) {
  EXPECT_EQ(spread_of(measured({}, 1)), 0);
  EXPECT_EQ(spread_of(measured({{}, {}}, 1)), 0);
  EXPECT_EQ(spread_of(measured({{1}, {2}}, 0)), 0);
  store::Record failed = measured({{1}, {2}}, 1);
  failed.error_kind = "timeout";
  EXPECT_EQ(spread_of(failed), 0);
  EXPECT_EQ(spread_of(measured({{std::numeric_limits<double>::infinity()}, {1}}, 1)), 0);
}

}  // namespace
}  // namespace lathe::learn
