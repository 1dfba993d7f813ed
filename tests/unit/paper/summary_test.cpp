// Numbers, findings and curves of a figure, from runs whose answer is known.
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/te/workload.h"
#include "research/paper/summary.h"
#include "support/temporary_folder.h"

namespace lathe::paper {
namespace {

class PaperSummary : public testing::Test {
 protected:
  PaperSummary() {
    rows_ = *RawRows::open(folder_.at("raw.csv"));
    sheet_ = *sheet_for(figure_, spaces_, settings_);
    best_ = panel().space->recording.best_seconds();
  }

  const Panel& panel() const { return sheet_.sets.at(0).panels.at(0); }
  // A search that is at half the best speed from its first trial, and at the best from so many
  // trials on; 0: never.
  void add(std::size_t cell, const std::vector<int>& trials) {
    for (std::size_t seed = 0; seed < trials.size(); ++seed) {
      experiment::Curve curve = {{1, 2 * best_}};
      if (trials[seed] > 0) curve.push_back({trials[seed], best_});
      ASSERT_TRUE(rows_->add(key_of(panel().cells.at(cell), settings_, seed), curve));
    }
  }

  const Settings settings_{.seeds = 5, .trials = 100};
  const std::vector<SpaceFile> spaces_ = *spaces_in(LATHE_RECORDINGS);
  const Figure figure_{"fig",
                       "",
                       "",
                       {{.targets = {"conv"},
                         .series = {{"xgb-rank", "guided"}, {"random", "random"}},
                         .claims = {{"xgb-rank", "random"}, {"random", "xgb-rank"}}}}};
  const test::TemporaryFolder folder_;
  std::optional<RawRows> rows_;
  Sheet sheet_;
  double best_ = 0;
};

TEST_F(PaperSummary, NumbersAreThoseOfTheRuns) {
  add(0, {30, 10, 20, 50, 40});
  add(1, {90, 0, 0, 80, 0});
  const auto numbers = numbers_of(panel(), settings_, *rows_);
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers[0].label, "guided");
  EXPECT_EQ(numbers[0].runs, 5);
  EXPECT_EQ(numbers[0].reached, 5);
  EXPECT_EQ(numbers[0].low, 20);
  EXPECT_EQ(numbers[0].median, 30);
  EXPECT_EQ(numbers[0].high, 40);
  EXPECT_DOUBLE_EQ(numbers[0].share_at_end, 1);
  EXPECT_EQ(numbers[1].reached, 2);
  EXPECT_EQ(numbers[1].low, 90);
  EXPECT_TRUE(std::isinf(numbers[1].median));
  EXPECT_DOUBLE_EQ(numbers[1].share_at_end, 0.5);
}

TEST_F(PaperSummary, FindingsNameWhatWonAndWhatLost) {
  add(0, {30, 10, 20, 50, 40});
  add(1, {90, 0, 0, 80, 0});
  const auto found = judged(sheet_.sets.at(0), settings_, *rows_);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].arm, "guided");
  EXPECT_EQ(found[0].against, "random");
  EXPECT_EQ(found[0].verdict, Verdict::kHolds);
  EXPECT_EQ(found[1].verdict, Verdict::kFails);
  ASSERT_EQ(found[0].outcomes.size(), 1U);
  EXPECT_EQ(found[0].outcomes[0], (std::pair<std::string, Outcome>{"conv", Outcome::kFewer}));
}

TEST_F(PaperSummary, CurvesAreDrawnInGflops) {
  add(0, {30, 10, 20, 50, 40});
  const Picture picture = picture_of(sheet_, settings_, *rows_);
  ASSERT_EQ(picture.panels.size(), 1U);
  const auto& curves = picture.panels[0].curves;
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_TRUE(curves[1].points.empty()) << "never run";
  ASSERT_EQ(curves[0].points.size(), 100U);
  const double speed = 1e-9 * te::flops(panel().space->recording.space->workload()) / best_;
  const CurvePoint& middle = curves[0].points.at(29);
  EXPECT_EQ(middle.x, 30);
  EXPECT_DOUBLE_EQ(middle.low, speed / 2);
  EXPECT_DOUBLE_EQ(middle.middle, speed);
  EXPECT_DOUBLE_EQ(middle.high, speed);
  EXPECT_DOUBLE_EQ(curves[0].points.front().high, speed / 2);
}

}  // namespace
}  // namespace lathe::paper
