#include <atomic>

#include "unit/tune/fakes.h"

namespace lathe::tune {
namespace {

TEST_F(TuneTest, ProgressTellsTheStory) {
  measurer_.fails = [](const Config& c) { return c[1] == 3; };
  std::vector<Progress> events;
  const auto summary = run([&](const Progress& p) { events.push_back(p); });
  ASSERT_TRUE(summary);
  ASSERT_GT(events.size(), 100U);
  int trials = 0;
  std::set<Phase> phases;
  for (const auto& event : events) {
    EXPECT_GE(event.trials, trials);
    trials = event.trials;
    EXPECT_EQ(event.wanted, 100);
    phases.insert(event.phase);
  }
  EXPECT_EQ(phases, (std::set<Phase>{Phase::kStarting, Phase::kTraining, Phase::kSearching,
                                     Phase::kMeasuring, Phase::kRacing}));
  EXPECT_EQ(events.back().trials, 100);
  EXPECT_EQ(events.back().failed, summary->failed);
  EXPECT_DOUBLE_EQ(events.back().best_seconds, summary->best_seconds());
  EXPECT_GT(events.back().trials_per_second, 0);
}

TEST_F(TuneTest, ALongMeasurementIsNotSilent) {
  std::atomic<int> events = 0;
  std::atomic<bool> heard = false;
  // The one trial lasts until two more events were heard: without the ticker it would last for
  // ever.
  options_.run.trials = 1;
  measurer_.before = [&](const Config&) {
    const int before = events;
    for (int i = 0; i < 2000 && events < before + 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    heard = events >= before + 2;
  };
  ASSERT_TRUE(run([&](const Progress&) { ++events; }));
  EXPECT_TRUE(heard);
}

// A reference that never comes: the run ends after a few seconds, and a later one goes on.
TEST_F(TuneTest, TheTimeEndsWhereNothingCanBeVerified) {
  options_.run.seconds = 1e-9;
  measurer_.without_reference = true;
  bool said = false;
  const auto summary =
      run([&](const Progress& p) { said |= p.shown() == "working out the reference"; });
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_TRUE(said);
  EXPECT_TRUE(summary->unverified);
  EXPECT_FALSE(summary->interrupted);
  EXPECT_FALSE(summary->best.ok());
  EXPECT_EQ(summary->trials, 0);
  measurer_.without_reference = false;
  options_.run.seconds = 0;
  options_.run.trials = 30;
  const auto later = run([](const Progress& p) { EXPECT_EQ(p.doing, ""); });
  ASSERT_TRUE(later) << later.error().text();
  EXPECT_FALSE(later->unverified);
  EXPECT_TRUE(later->best.ok());
  expect_complete(30);
}

TEST_F(TuneTest, AReferenceThatComesLateEndsNothing) {
  options_.run.trials = 20;
  measurer_.without_reference = true;
  const auto summary = run([&](const Progress& p) {
    if (p.shown() == "working out the reference") measurer_.without_reference = false;
  });
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_FALSE(summary->unverified);
  expect_complete(20);
}

// A round of this search would take hours.
TEST_F(TuneTest, ASearchEndsInTimeForItsCandidatesToBeMeasured) {
  options_.run.seconds = 2;
  options_.run.trials = 1000;
  options_.race.seconds = 0;
  options_.search.exploration.steps = options_.search.exploration.patience = 100'000'000;
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_GT(summary->trials, options_.search.first_batch);
}

}  // namespace
}  // namespace lathe::tune
