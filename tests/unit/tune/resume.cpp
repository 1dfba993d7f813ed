// The same command goes on where it was: stopped, killed, extended.
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "unit/tune/fakes.h"

namespace lathe::tune {
namespace {

TEST_F(TuneTest, AStoppedRunGoesOn) {
  int budget = 37;
  const auto first = run({}, [&] { return static_cast<int>(measurer_.measured.size()) >= budget; });
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->interrupted);
  EXPECT_EQ(first->trials, 37);
  EXPECT_EQ(measurer_.races, 0);
  const auto second = run();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->resumed, 37);
  EXPECT_EQ(second->trials, 100);
  EXPECT_EQ(measurer_.measured.size(), 100U);
  expect_complete(100);
}

TEST_F(TuneTest, AFinishedRunMeasuresNothing) {
  ASSERT_TRUE(run());
  const auto again = run();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->resumed, 100);
  EXPECT_EQ(measurer_.measured.size(), 100U);
  EXPECT_EQ(measurer_.races, 1) << "the winner stands";
  EXPECT_TRUE(again->best.raced);
}

TEST_F(TuneTest, MoreTrialsExtendARun) {
  options_.run.trials = 30;
  ASSERT_TRUE(run());
  options_.run.trials = 50;
  ASSERT_TRUE(run());
  expect_complete(50);
}

TEST_F(TuneTest, WhatABatchHasLeftComesFirst) {
  options_.search.default_first = false;
  ASSERT_TRUE(run({}, [&] { return measurer_.measured.size() >= 4; }));
  const auto plan = store_->get("plan/1");
  ASSERT_TRUE(plan && plan->has_value());
  measurer_.batches.clear();
  ASSERT_TRUE(run());
  EXPECT_EQ(measurer_.batches.front(), 6U) << "the rest of a batch of 10";
  expect_complete(100);
}

TEST_F(TuneTest, AnotherRunLearnsFromThisOneUnlessFresh) {
  ASSERT_TRUE(run());
  options_.run.seed = 1;
  NearestModel model;
  const auto searcher = *searcher_named("annealing", options_.search.exploration);
  auto summary = tune(subject_, measurer_, *store_, target_, options_, searcher, &model, {}, {});
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->trials, 100);
  EXPECT_EQ(summary->resumed, 0);
  EXPECT_GT(model.rows_.count(), 100);
  std::set<Config> distinct(measurer_.measured.begin(), measurer_.measured.end());
  EXPECT_EQ(distinct.size(), 200U) << "what another run measured is not measured again";

  options_.run.seed = 2;
  options_.run.fresh = true;
  NearestModel ignorant;
  summary = tune(subject_, measurer_, *store_, target_, options_, searcher, &ignorant, {}, {});
  ASSERT_TRUE(summary);
  EXPECT_LT(ignorant.rows_.count(), 100);
}

TEST_F(TuneTest, AnotherMachinesRecordsAreHints) {
  options_.run.trials = 40;
  ASSERT_TRUE(run());
  // As if they had come from elsewhere.
  std::vector<store::Record> foreign;
  for (auto record : records()) {
    record.cpu = "another/cpu/0";
    record.seconds = 1e-9;
    record.raced = false;
    foreign.push_back(record);
  }
  store_ = std::move(*store::open_sqlite(folder_.at("other.db")));
  const auto there = *store_->open_run({0, subject_.workload(), target_.text(), CacheMode::kWarm,
                                        "default", "00aa", "random", "none", 9});
  for (auto& record : foreign) record.run = there.id;
  ASSERT_TRUE(store_->add(foreign));
  NearestModel model;
  const auto summary =
      tune(subject_, measurer_, *store_, target_, options_,
           *searcher_named("annealing", options_.search.exploration), &model, {}, {});
  ASSERT_TRUE(summary);
  EXPECT_GT(summary->best.seconds, 1e-6);
  EXPECT_EQ(std::ranges::count(model.rows_.workload, 1), 40);
}

TEST_F(TuneTest, AnotherCodeGeneratorsTrialsAreMeasuredAnew) {
  options_.run.trials = 40;
  ASSERT_TRUE(run());
  options_.run.codegen_version = 7;
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->resumed, 0);
  EXPECT_EQ(summary->trials, 40);
  EXPECT_TRUE(summary->best.ok());
  EXPECT_EQ(summary->best.codegen_version, 7);
  std::set<int> indices;
  for (const auto& record : records()) indices.insert(record.index);
  EXPECT_EQ(indices.size(), 80U) << "the old trials stay";
  // And the same command goes on with the new ones.
  EXPECT_EQ(run()->resumed, 40);
}

TEST_F(TuneTest, TheTimeLimitEndsARun) {
  options_.run.trials = 100000;
  options_.run.seconds = 0.3;
  measurer_.before = [](const Config&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  const auto summary = run();
  ASSERT_TRUE(summary);
  EXPECT_FALSE(summary->interrupted);
  EXPECT_GT(summary->trials, 0);
  EXPECT_LT(summary->trials, 1000);
  EXPECT_EQ(measurer_.races, 1);
  EXPECT_GT(measurer_.race_given.seconds, 0);
  EXPECT_LE(measurer_.race_given.seconds, 0.2) << "the race takes what is left";
  EXPECT_LE(measurer_.race_given.patience, 0.2) << "and waits no longer";
  EXPECT_LE(measurer_.race_given.patience, measurer_.race_given.limit);
}

TEST_F(TuneTest, ARaceWaitsForItsShareAloneWhereMuchTimeIsLeft) {
  options_.run.trials = 30;
  options_.run.seconds = 3600;
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(measurer_.races, 1);
  EXPECT_GT(measurer_.race_given.limit, 3000);
  EXPECT_LE(measurer_.race_given.patience, options_.race.share * 600);
}

// A race that goes on until it is told to stop: without the limit this would last for ever.
TEST_F(TuneTest, TheTimeLimitEndsARaceToo) {
  options_.run.trials = 30;
  options_.run.seconds = 0.3;
  int asked = 0;
  measurer_.while_racing = [&] {
    for (; !measurer_.race_given.stop(); ++asked)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(measurer_.races, 1);
  EXPECT_GT(asked, 0);
  EXPECT_FALSE(summary->interrupted);
}

TEST_F(TuneTest, AnInterruptEndsARaceToo) {
  options_.run.trials = 30;
  bool stop = false;
  measurer_.while_racing = [&] {
    EXPECT_FALSE(measurer_.race_given.stop());
    stop = true;
    EXPECT_TRUE(measurer_.race_given.stop());
  };
  const auto summary = run({}, [&] { return stop; });
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(measurer_.races, 1);
  EXPECT_TRUE(summary->interrupted);
}

TEST_F(TuneTest, AStoreThatFailsEndsTheRunWithItsSentence) {
  class Full final : public store::Store {
   public:
    explicit Full(store::Store& inner) : inner_(inner) {}
    Result<store::Run> open_run(const store::Run& wanted) override {
      return inner_.open_run(wanted);
    }
    Status add(std::vector<store::Record>& records) override {
      if (++added_ > 15) return fail(ErrorKind::kIo, "the disk is full");
      return inner_.add(records);
    }
    Status set_race(const std::vector<store::RaceResult>& results,
                    const store::RaceNote& note) override {
      return inner_.set_race(results, note);
    }
    Status each(const store::Query& q,
                const std::function<bool(const store::Record&)>& v) override {
      return inner_.each(q, v);
    }
    Result<std::int64_t> count(const store::Query& query) override { return inner_.count(query); }
    Status each_by_standing(const store::Query& query,
                            const std::function<bool(const store::Record&)>& visit) override {
      return inner_.each_by_standing(query, visit);
    }
    Result<std::optional<store::Record>> best(const store::Query& query) override {
      return inner_.best(query);
    }
    Result<std::vector<store::Run>> runs() override { return inner_.runs(); }
    Status put(const std::string& key, const std::string& value) override {
      return inner_.put(key, value);
    }
    Result<std::optional<std::string>> get(const std::string& key) override {
      return inner_.get(key);
    }

   private:
    store::Store& inner_;
    int added_ = 0;
  } full(*store_);
  const auto summary = tune(subject_, measurer_, full, target_, options_,
                            *searcher_named("random", {}), nullptr, {}, {});
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().message, "the disk is full");
  EXPECT_LE(measurer_.measured.size(), 16U) << "nothing is measured that cannot be recorded";
  options_.search.name = "annealing";
  ASSERT_TRUE(run());
  expect_complete(100);
}

// A run in a child process, killed at random moments until it ends by itself.
TEST_F(TuneTest, KilledAtRandomMomentsLosesAndRepeatsNothing) {
  const std::string path = folder_.at("killed.db");
  store_.reset();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Rng rng(3);
  int kills = 0, recorded = 0;
  for (bool finished = false; !finished;) {
    const pid_t child = fork();
    if (child == 0) {
      store_ = std::move(*store::open_sqlite(path));
      measurer_.before = [](const Config&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      };
      const auto summary =
          run([&](const Progress& p) { (void)!write(ends[1], &p.trials, sizeof p.trials); });
      _exit(summary && summary->trials == 100 ? 0 : 1);
    }
    close(ends[1]);
    int announced = 0, trials = 0;
    const auto hear = [&] { return read(ends[0], &trials, sizeof trials) == sizeof trials; };
    // Some are killed while they start, the others once they get on, however slow the machine is.
    if (!rng.chance(0.2))
      while (announced <= recorded && hear()) announced = std::max(announced, trials);
    usleep(static_cast<useconds_t>(rng.below(20'000)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    finished = WIFEXITED(status);
    if (finished) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    } else {
      ++kills;
    }
    // Every trial that was announced as finished is in the store.
    while (hear()) announced = std::max(announced, trials);
    close(ends[0]);
    ASSERT_EQ(pipe(ends), 0);
    store_ = std::move(*store::open_sqlite(path));
    recorded = static_cast<int>(*store_->count({}));
    EXPECT_GE(recorded, announced);
    store_.reset();
  }
  store_ = std::move(*store::open_sqlite(path));
  EXPECT_GE(kills, 3);
  expect_complete(100);
}

}  // namespace
}  // namespace lathe::tune
