#include "research/recorded/collect.h"

#include <set>

#include <gtest/gtest.h>

#include "research/recorded/difficulty.h"
#include "unit/recorded/made_up.h"

namespace lathe::recorded {
namespace {

// Races where the machine is disturbed in one race of five, for everyone in it alike.
class Races final : public measure::Measurer {
 public:
  Fingerprint machine() const override { return {}; }
  Status measure(std::vector<measure::Candidate>, double,
                 const std::function<void(measure::Outcome)>&,
                 const std::function<bool()>&) override {
    return fail(ErrorKind::kInternal, "nothing is to be measured");
  }
  Result<measure::RaceOutcome> race(const std::vector<measure::Candidate>& candidates,
                                    const measure::RaceOptions& options) override {
    measure::RaceOutcome out;
    may_be_stopped = may_be_stopped && options.stop;
    for (const auto& candidate : candidates) {
      const int visit = visits[candidate.tag]++;
      out.racers.push_back(
          {.ran = true, .seconds = (candidate.tag + 1) * (visit == 2 ? 3.0 : 1.0)});
    }
    groups.push_back(candidates.size());
    return out;
  }
  Result<double> peak_flops() override { return 1e9; }

  std::map<int, int> visits;
  std::vector<std::size_t> groups;
  bool may_be_stopped = true;  // each race
};

class CollectTest : public RecordedTest {
 protected:
  CollectTest() : store_(std::move(*store::open_in_memory())) {
    store::Run run;
    run.workload = "C[i] = A[i]";
    run_ = store_->open_run(run)->id;
  }
  void add(const Recording& of, std::size_t config, double seconds,
           const std::string& cpu = "6/1/2") {
    store::Record record;
    record.run = run_;
    record.index = next_++;
    record.config = of.space->to_json(of.configs()[config]);
    record.trace = Json::array();
    record.cpu = cpu;
    record.codegen_version = of.codegen_version;
    record.seconds = seconds;
    record.visits = {{0, {seconds}, 0}, {1, {seconds * 1.02}, 0}, {2, {seconds * 0.99}, 0}};
    if (seconds == 0) {
      record.visits.clear();
      record.error_kind = "run";
      record.error_message = config % 2 == 0 ? "crashed" : "wrote out of bounds";
    }
    std::vector<store::Record> one = {record};
    ASSERT_TRUE(store_->add(one));
  }

  std::unique_ptr<store::Store> store_;
  std::int64_t run_ = 0;
  int next_ = 0;
};

TEST_F(CollectTest, ARunThatMeasuredAllBecomesARecording) {
  Recording recording = made_up();
  const std::size_t count = recording.configs().size();
  for (std::size_t i = count; i-- > 0;)
    add(recording, i, i % 10 == 0 ? 0 : 1e-5 * (1 + static_cast<double>(i)));
  const auto records = records_of(*store_, run_, recording);
  ASSERT_TRUE(records) << records.error().text();
  ASSERT_TRUE(collect(*records, recording));
  EXPECT_EQ(recording.trials()[11].seconds, 1e-5 * 12);
  EXPECT_NEAR(recording.trials()[11].spread, 0.01, 1e-9);
  EXPECT_EQ(recording.failures.size(), 1U);  // every tenth is even
  EXPECT_EQ(recording.trials()[10].failure, 0);
  const auto first = fastest(*records, 5);
  ASSERT_EQ(first.size(), 5U);
  EXPECT_EQ(first[0].seconds, 1e-5 * 2);
  EXPECT_EQ(first[4].seconds, 1e-5 * 6);
}

TEST_F(CollectTest, WhatFailsInTheRacesFailed) {
  Recording recording = made_up();
  const std::size_t count = recording.configs().size();
  for (std::size_t i = 0; i < count; ++i) add(recording, i, 1e-5 * (1 + static_cast<double>(i)));
  auto records = records_of(*store_, run_, recording);
  ASSERT_TRUE(records) << records.error().text();
  for (const int i : {0, 1}) {
    (*records)[i].raced = true;
    (*records)[i].race_seconds = i == 0 ? std::numeric_limits<double>::infinity() : 2e-5;
  }
  ASSERT_TRUE(collect(*records, recording));
  ASSERT_EQ(recording.failures.size(), 1U);
  EXPECT_EQ(recording.failures[0].message, "failed when the fastest were raced");
  EXPECT_EQ(recording.trials()[0].failure, 0);
  EXPECT_EQ(recording.best_seconds(), 2e-5);
  EXPECT_EQ(difficulty_of(recording).worked, static_cast<int>(count) - 1);
}

TEST_F(CollectTest, SaysHowMuchIsMissing) {
  const Recording recording = made_up();
  add(recording, 0, 1e-5);
  add(recording, 1, 1e-5, "another cpu");
  const auto records = records_of(*store_, run_, recording);
  ASSERT_FALSE(records);
  EXPECT_NE(records.error().message.find(fmt::format("{} of {} configurations are not measured yet",
                                                     recording.configs().size() - 1,
                                                     recording.configs().size())),
            std::string::npos)
      << records.error().text();
}

TEST(RaceAll, TakesTheMedianOfRacesInGroupsDrawnAnew) {
  std::vector<store::Record> records(47);
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i] = {.id = static_cast<std::int64_t>(100 + i), .trace = Json::array()};
  Races races;
  std::set<double> shares;
  const auto results = race_all(
      records, races, CacheMode::kWarm, [&](double share) { shares.insert(share); },
      [] { return false; });
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ((*results)[i].record, static_cast<std::int64_t>(100 + i));
    EXPECT_EQ((*results)[i].seconds, static_cast<double>(i + 1));
  }
  EXPECT_EQ(shares.size(), 5U);
  EXPECT_LE(std::ranges::max(races.groups), 20U);
  EXPECT_TRUE(races.may_be_stopped);
  const auto stopped =
      race_all(records, races, CacheMode::kWarm, [](double) {}, [] { return true; });
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->empty());
}

}  // namespace
}  // namespace lathe::recorded
