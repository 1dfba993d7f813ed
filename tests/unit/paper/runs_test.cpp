// Runs on two small spaces, stopped and taken up again.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "research/paper/runs.h"
#include "support/temporary_folder.h"

namespace lathe::paper {
namespace {

class Runs : public testing::Test {
 protected:
  // Runs until so many are finished; how many were not found finished.
  int runs(int jobs, int most = kAll) {
    auto rows = RawRows::open(file_);
    EXPECT_TRUE(rows) << rows.error().text();
    Progress last;
    const auto status = perform(
        sheets_, settings_, jobs, *rows, [&](const Progress& progress) { last = progress; },
        [&] { return most != kAll && last.done - last.resumed >= most; });
    EXPECT_TRUE(status) << status.error().text();
    EXPECT_TRUE(rows->sort());
    if (last.wanted > 0) {
      EXPECT_EQ(last.wanted, 2 * 3 * 3);
    }
    return last.done - last.resumed;
  }
  std::string content() const { return *read_file(file_); }
  void refused(const std::string& text, const std::string& sentence) {
    ASSERT_TRUE(write_whole(file_, text));
    const auto rows = RawRows::open(file_);
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().text(), file_ + ": " + sentence);
    EXPECT_EQ(content(), text) << "nothing is lost";
  }

  static constexpr int kAll = -1;
  const Settings settings_{.seeds = 3, .trials = 40, .rows_a_source = 50};
  const std::vector<SpaceFile> spaces_ = *spaces_in(LATHE_RECORDINGS);
  const Figure figure_{
      "fig",
      "",
      "",
      {{.sources = {"conv", "matmul"},
        .series = {{"random-x2", ""}, {"xgb-rank-paper", ""}, {"xgb-rank-transfer", ""}}}}};
  const std::vector<Sheet> sheets_ = {*sheet_for(figure_, spaces_, settings_)};
  const test::TemporaryFolder folder_;
  const std::string file_ = folder_.at("raw.csv");
};

TEST_F(Runs, AreTheSameHoweverManyAtATime) {
  EXPECT_EQ(runs(1), 18);
  const std::string one = content();
  std::filesystem::remove(file_);
  EXPECT_EQ(runs(3), 18);
  EXPECT_EQ(content(), one);
}

TEST_F(Runs, GoOnWhereTheyWereKilled) {
  EXPECT_EQ(runs(2), 18);
  const std::string whole = content();
  std::filesystem::remove(file_);
  EXPECT_EQ(runs(1, 7), 7);
  // A kill in the middle of a write.
  std::ofstream(file_, std::ios::app) << whole.substr(whole.rfind('\n', whole.size() - 2) + 1, 20);
  EXPECT_EQ(runs(2), 11);
  EXPECT_EQ(content(), whole);
  EXPECT_EQ(runs(2), 0);
  EXPECT_EQ(content(), whole);
}

TEST_F(Runs, StandInRowsOfTheirOwnSettings) {
  EXPECT_EQ(runs(2), 18);
  auto rows = RawRows::open(file_);
  ASSERT_TRUE(rows);
  const Cell& cell = sheets_[0].sets[0].panels[0].cells[0];
  EXPECT_EQ(curves_of(cell, settings_, *rows).size(), 3U);
  EXPECT_EQ(curves_of(cell, {.seeds = 3, .trials = 41}, *rows).size(), 0U);
  RunKey other = key_of(cell, settings_, 0);
  ASSERT_NE(rows->find(other), nullptr);
  for (const auto& point : *rows->find(other)) EXPECT_LE(point.trial, 40);
  other.recording = "0";
  EXPECT_EQ(rows->find(other), nullptr);
}

TEST_F(Runs, AreWrittenByOneProcessAtATime) {
  const auto rows = RawRows::open(file_);
  ASSERT_TRUE(rows);
  const auto second = RawRows::open(file_);
  ASSERT_FALSE(second);
  EXPECT_EQ(
      second.error().text(),
      folder_.path().string() +
          ": another lathe paper writes here; wait for its end, or give another folder with -o");
}

TEST_F(Runs, RefuseDamagedRows) {
  EXPECT_EQ(runs(1, 2), 2);
  const std::string good = content(),
                    advice =
                        "is no run of lathe paper; take it away, or give another folder with -o";
  refused("something else\n", "line 1 " + advice);
  refused("something else", "line 1 " + advice);
  refused("something else\nwithout an end", "line 1 " + advice);
  refused(good + "conv,1,random\n", "line 4 " + advice);
  refused(good + "conv,1,random,2,40,x,\n", "line 4 " + advice);
  refused(good + "conv,1,random,2,40,1,3:-1\n", "line 4 " + advice);
}

}  // namespace
}  // namespace lathe::paper
