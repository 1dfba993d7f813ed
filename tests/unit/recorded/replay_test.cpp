#include "research/recorded/replay.h"

#include <gtest/gtest.h>

#include "tuner/learn/spread.h"
#include "tuner/tune/tune.h"
#include "unit/recorded/made_up.h"

namespace lathe::recorded {
namespace {

struct Ran {
  tune::Summary summary;
  std::vector<store::Record> records;
};

// The first trials of a search on a recording.
Ran run(const Recording& recording, tune::Options options, const std::string& search,
        const std::string& model) {
  options.search.name = search;
  options.model.name = model;
  options.run.jobs = 1;
  const auto store = std::move(*store::open_in_memory());
  const auto measurer = make_replay(recording);
  auto summary = tune::tune(*recording.space, *measurer, *store, recording.target,
                            replay_options(recording, options), {}, {});
  EXPECT_TRUE(summary) << summary.error().text();
  Ran ran{std::move(*summary), {}};
  EXPECT_TRUE(store->each({}, [&](const store::Record& record) {
    ran.records.push_back(record);
    return true;
  }));
  return ran;
}

TEST(Replay, TellsWhatWasRecordedAndSearchesAreTheSameEachTime) {
  const Recording recording = made_up();
  for (const auto& [search, model] : {std::pair{"annealing", "xgb-rank"},
                                      {"annealing", "analytic"},
                                      {"genetic", "none"},
                                      {"random", "none"}}) {
    SCOPED_TRACE(std::string(search) + " " + model);
    const Ran a = run(recording, {.run = {.trials = 90}, .search = {.batch = 20}}, search, model),
              b = run(recording, {.run = {.trials = 90}, .search = {.batch = 20}}, search, model);
    ASSERT_EQ(a.records.size(), 90U);
    ASSERT_EQ(b.records.size(), 90U);
    for (std::size_t i = 0; i < a.records.size(); ++i) {
      const store::Record& record = a.records[i];
      EXPECT_EQ(record.config, b.records[i].config);
      EXPECT_EQ(record.predicted_score, b.records[i].predicted_score);
      const std::size_t place = *recording.find(*recording.space->from_json(record.config));
      EXPECT_EQ(record.ok(), recording.trials()[place].failure < 0);
      EXPECT_EQ(record.cpu, "6/1/2");
      EXPECT_EQ(record.fingerprint, recording.machine.text());
      if (!record.ok()) continue;
      EXPECT_EQ(record.seconds, recording.seconds(place));
      EXPECT_NEAR(learn::spread_of(record), 0.0125, 1e-9);
    }
    EXPECT_EQ(a.summary.best.config, b.summary.best.config);
    EXPECT_TRUE(a.summary.best.raced);
  }
}

TEST(Replay, ExhaustsTheSpace) {
  const Recording recording = made_up();
  const Ran ran = run(recording, {.run = {.trials = 100'000}}, "random", "none");
  EXPECT_EQ(ran.records.size(), recording.configs().size());
  EXPECT_TRUE(ran.summary.exhausted);
  EXPECT_EQ(ran.summary.best_seconds(), recording.best_seconds());
}

TEST(Replay, RefusesAConfigurationOutsideIt) {
  const Recording recording = made_up();
  const auto measurer = make_replay(recording);
  const std::vector<measure::Candidate> strangers = {{0, {}, recording.configs()[0]},
                                                     {1, {}, {99, 99, 99, 99}}};
  int heard = 0;
  const auto status = measurer->measure(
      strangers, 1, [&](const measure::Outcome&) { ++heard; }, [] { return false; });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(status.error().message.find("the recording of small has no configuration 99,99,99,99"),
            std::string::npos);
  EXPECT_EQ(heard, 1);
  EXPECT_FALSE(measurer->race(strangers, {}));
}

TEST(Replay, StopsWhereItIsTold) {
  const Recording recording = made_up();
  const auto measurer = make_replay(recording);
  std::vector<measure::Candidate> batch;
  for (int i = 0; i < 10; ++i)
    batch.push_back({i, {}, recording.configs()[static_cast<std::size_t>(i)]});
  int heard = 0;
  EXPECT_TRUE(measurer->measure(
      batch, 1, [&](const measure::Outcome&) { ++heard; }, [&] { return heard == 4; }));
  EXPECT_EQ(heard, 4);
}

}  // namespace
}  // namespace lathe::recorded
