#include "research/paper/live.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace lathe::paper {
namespace {

LiveWorkload workload(const std::string& title, const std::string& target) {
  return {title, target, {{7, "xgb-rank", {{0.5, 10}, {2, 40}}}, {8, "random", {{1, 20}}}}};
}

TEST(LiveFigure, HasAPanelForEachWorkloadAndACurveForEachRun) {
  const LiveFigure figure = live_figure({workload("C6", "cpu:host"), workload("C1", "cpu:host")});
  ASSERT_EQ(figure.picture.panels.size(), 2U);
  EXPECT_EQ(figure.picture.panels[0].title, "C6");
  const auto& curves = figure.picture.panels[0].curves;
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].label, "xgb-rank");
  ASSERT_EQ(curves[0].points.size(), 2U);
  EXPECT_EQ(curves[0].points[1].x, 2);
  for (const double speed :
       {curves[0].points[1].low, curves[0].points[1].middle, curves[0].points[1].high})
    EXPECT_EQ(speed, 40);
  EXPECT_TRUE(
      figure.csv.starts_with("workload,target,run,search,seconds,gflops\n"
                             "\"C6\",\"cpu:host\",7,xgb-rank,0.5,10\n"
                             "\"C6\",\"cpu:host\",7,xgb-rank,2,40\n"
                             "\"C6\",\"cpu:host\",8,random,1,20\n"))
      << figure.csv;
}

TEST(LiveFigure, NamesTheTargetWhereTheTitleDoesNotTellWorkloadsApart) {
  const LiveFigure figure =
      live_figure({workload("C6", "a"), workload("C6", "b"), workload("say \"x\"", "a")});
  EXPECT_EQ(figure.picture.panels[0].title, "C6; a");
  EXPECT_EQ(figure.picture.panels[1].title, "C6; b");
  EXPECT_EQ(figure.picture.panels[2].title, "say \"x\"");
  EXPECT_NE(figure.csv.find("\n\"say \"\"x\"\"\",\"a\",7,"), std::string::npos) << figure.csv;
}

TEST(LiveFigure, DrawsTheFirstWorkloadsAndTellsOfAll) {
  std::vector<LiveWorkload> many;
  for (int i = 0; i < 20; ++i) many.push_back(workload(fmt::format("C{}", i), "a"));
  const LiveFigure figure = live_figure(many);
  EXPECT_EQ(figure.picture.panels.size(), 15U);
  EXPECT_EQ(std::ranges::count(figure.csv, '\n'), 1 + 20 * 3);
}

}  // namespace
}  // namespace lathe::paper
