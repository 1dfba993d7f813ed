#include "api/report/progress.h"

#include <gtest/gtest.h>

#include "unit/report/trials.h"

namespace lathe::report {
namespace {

const Work kWork{10, "GFLOP/s", true};

std::vector<double> numbers(std::size_t count) {
  std::vector<double> out;
  for (std::size_t i = 1; i <= count; ++i) out.push_back(static_cast<double>(i));
  return out;
}

// What a stepped curve shows at x.
double at(const std::vector<Point>& curve, double x) {
  double y = 0;
  for (const Point& point : curve)
    if (point.x <= x) y = point.y;
  return y;
}

TEST(Clock, ReadsTimesOfRecords) {
  EXPECT_EQ(clock_of("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(clock_of("2000-03-01T00:00:01Z"), 951868801);
  EXPECT_DOUBLE_EQ(clock_of("1970-01-02T00:00:00.125Z"), 86400.125);
  for (const char* text :
       {"", "yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z",
        "2026-01-01T00:00:nanZ", "2026-01-01T00:00:00", "2026-01-01T00:00:99Z"})
    EXPECT_TRUE(std::isnan(clock_of(text))) << text;
}

TEST(Progress, PausesAreNotWork) {
  auto trials = trials_of({1, 1, 1, 1});
  trials[2].clock += 86400;
  trials[3].clock += 86400;
  EXPECT_EQ(seconds_at_work(pointers(trials)), (std::vector<double>{0.5, 1.5, 2, 3}));
}

TEST(Progress, TrialsWithoutAClockCountWhatTheyTook) {
  auto trials = trials_of({1, 1, 1});
  trials[1].clock = std::nan("");
  EXPECT_EQ(seconds_at_work(pointers(trials)), (std::vector<double>{0.5, 1, 1.5}));
}

TEST(Progress, OnlyRisesAndTheEndAreKept) {
  const auto trials = trials_of({kFailed, 4, 5, 2, kFailed, 2, 3});
  const auto curve = best_so_far(pointers(trials), numbers(7), kWork);
  ASSERT_EQ(curve.size(), 3U);
  EXPECT_EQ(curve[0].x, 2);
  EXPECT_EQ(curve[0].y, 2.5);
  EXPECT_EQ(curve[1].x, 4);
  EXPECT_EQ(curve[1].y, 5);
  EXPECT_EQ(curve[2].x, 7);
  EXPECT_EQ(curve[2].y, 5);
}

TEST(Progress, NothingWorked) {
  EXPECT_TRUE(best_so_far(pointers(trials_of({kFailed, kFailed})), numbers(2), kWork).empty());
}

TEST(Progress, OneTrialIsAPoint) {
  EXPECT_EQ(best_so_far(pointers(trials_of({2})), numbers(1), kWork).size(), 1U);
}

TEST(Progress, ManySmallStepsBecomeFewAndNoneIsLost) {
  std::vector<double> seconds;
  for (int i = 0; i < 20000; ++i) seconds.push_back(1.0 / (1 + i + (i > 5000 ? 40000 : 0)));
  const auto trials = trials_of(seconds);
  const auto curve = best_so_far(pointers(trials), numbers(seconds.size()), kWork);
  EXPECT_LT(curve.size(), 410U);
  const double range = curve.back().y - curve.front().y;
  EXPECT_DOUBLE_EQ(curve.back().y, kWork.speed(seconds.back()));
  for (std::size_t i = 0; i < seconds.size(); i += 7)
    EXPECT_NEAR(at(curve, static_cast<double>(i + 1)), kWork.speed(seconds[i]), range / 390) << i;
}

TEST(Progress, TrialsUntil) {
  const auto trials = trials_of({kFailed, 4, 2.05, 2});
  EXPECT_EQ(trials_until(pointers(trials), 2.1), 3);
  EXPECT_EQ(trials_until(pointers(trials), 1), 0);
}

}  // namespace
}  // namespace lathe::report
