// How a model's tuning shares its time, by a clock of the test.
#include "api/time_shares.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "api/model_tuning.h"
#include "api/targets.h"
#include "base/rng.h"
#include "graph/passes/passes.h"
#include "support/graph_writer.h"
#include "support/temporary_folder.h"

namespace lathe::api {
namespace {

class TimeSharesTest : public ::testing::TestWithParam<double> {
 protected:
  double now_ = 1234;
  const double seconds_ = GetParam();
  const TimeShares time_{seconds_, [this] { return now_; }};
};

TEST_P(TimeSharesTest, ReserveWhatComesLater) {
  EXPECT_NEAR(time_.left_for_turns(), 0.8 * seconds_, 1e-9);
  now_ += time_.left_for_turns();
  EXPECT_FALSE(time_.over());
  EXPECT_NEAR(time_.left_for_turns(), 0, 1e-9);
  EXPECT_NEAR(time_.left_for_last_word(), 0.2 * seconds_, 1e-9);
}

// Each takes all that it may, as on a busy machine.
TEST_P(TimeSharesTest, RacesLeaveTheLastWordItsShare) {
  for (const std::size_t tasks : {1U, 2U, 13U, 60U, 211U}) {
    now_ = 1234 + 0.8 * seconds_;
    std::size_t raced = 0;
    double first = 0;
    for (double race = 1; raced < tasks; ++raced, now_ += race) {
      race = time_.left_for_race(tasks - raced);
      if (race == 0) break;
      EXPECT_GE(race, std::min(1.0, 0.1 * seconds_) - 1e-9);
      if (raced == 0) first = race;
    }
    // All race where each has a second.
    EXPECT_EQ(raced == tasks, 0.1 * seconds_ >= static_cast<double>(tasks)) << tasks;
    if (raced == tasks) {
      EXPECT_NEAR(first, 0.1 * seconds_ / static_cast<double>(tasks), 1e-9);
    }
    EXPECT_GE(time_.left_for_last_word(), 0.1 * seconds_ - 1e-9) << tasks;
  }
}

TEST_P(TimeSharesTest, WhatIsReservedNeitherTurnsNorRacesTake) {
  TimeShares time(seconds_, [this] { return now_; });
  for (const double wanted : {0.0, 0.1, 0.25, 7.0}) {
    time.reserve(wanted * seconds_);
    const double kept = std::min(wanted, 1.0 / 3) * seconds_;
    EXPECT_NEAR(time.left_for_turns(), 0.8 * seconds_ - kept, 1e-9);
    EXPECT_LE(time.left_for_race(1), std::max(0.0, 0.9 * seconds_ - kept));
    EXPECT_NEAR(time.left_for_last_word(), seconds_, 1e-9);
  }
}

// What a race leaves is for those after it.
TEST_P(TimeSharesTest, ShortRacesLeaveMoreForOthers) {
  now_ += 0.8 * seconds_;
  const double first = time_.left_for_race(3);
  if (first == 0) return;
  now_ += first / 2;
  EXPECT_GE(time_.left_for_race(2), std::min(first, 0.1 * seconds_ - first / 2) - 1e-9);
}

TEST_P(TimeSharesTest, TheLastWordHasItsShareHoweverLateItIs) {
  now_ += 3 * seconds_;
  EXPECT_TRUE(time_.over());
  EXPECT_LT(time_.left_for_turns(), 0);
  EXPECT_EQ(time_.left_for_race(5), 0);
  EXPECT_NEAR(time_.left_for_last_word(), 0.1 * seconds_, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(OfAnyTime, TimeSharesTest, ::testing::Values(0.01, 1, 7, 20, 90, 5000));

TEST(TimeShares, WithoutALimit) {
  double now = 0;
  const TimeShares time(0, [&] { return now; });
  now = 1e6;
  EXPECT_FALSE(time.limited());
  EXPECT_FALSE(time.over());
  EXPECT_TRUE(std::isinf(time.left_for_turns()));
  EXPECT_TRUE(std::isinf(time.left_for_race(7)));
  EXPECT_TRUE(std::isinf(time.usual_race(7)));
  EXPECT_NEAR(time.left_for_last_word(), 1e5, 1);
}

// A product and what follows it, twice.
graph::Graph small_net() {
  Rng rng(3);
  test::GraphWriter w;
  const int x = w.input({7, 31});
  const int y = test::unary(w, test::product(w, x, w.constant({31, 31}, rng)), "max({}, 0)");
  graph::Graph graph = w.finish({test::product(w, y, w.constant({31, 13}, rng))});
  EXPECT_TRUE(graph::run_passes(graph));
  return graph;
}

class ModelTuning : public ::testing::Test {
 protected:
  ModelTuning() { ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }

  // The clock leaps beyond the end once a tuner does that.
  Result<TunedModel> tuned(double seconds, const std::string& doing) {
    ModelTuneRequest request{.target = *make_target("cpu:host", 1),
                             .database = folder_.at("records.db"),
                             .clock = [this] { return now_.load(); }};
    request.options.run.trials = 8;
    request.options.run.seconds = seconds;
    request.options.run.jobs = 1;
    request.options.model.transfer = false;
    const graph::Graph graph = small_net();
    return tune_model(graph, request,
                      [&](const ModelTuneProgress& progress) {
                        heard_ = heard_ || progress.doing == doing;
                        if (progress.doing == doing) now_ = 2 * seconds;
                      },
                      {});
  }

  const test::TemporaryFolder folder_;
  std::atomic<double> now_ = 0;
  std::atomic<bool> heard_ = false;
};

TEST_F(ModelTuning, HasTheLastWordWhereRacesTookAllTheTime) {
  const auto out = tuned(1000, "racing");
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_TRUE(heard_);
  EXPECT_GT(out->last_word.before, 0);
}

TEST_F(ModelTuning, HasTheLastWordWhereTurnsTookAllTheTime) {
  const auto out = tuned(1000, "measuring");
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_TRUE(heard_);
  EXPECT_GT(out->last_word.before, 0);
}

}  // namespace
}  // namespace lathe::api
