#include <algorithm>
#include <tuple>

#include "unit/tune/fakes.h"

namespace lathe::tune {
namespace {

TEST_F(TuneTest, MeasuresExactlyTheTrialsAndRecordsEach) {
  for (const char* search : {"annealing", "genetic", "random"}) {
    SCOPED_TRACE(search);
    options_.search.name = search;
    options_.run.fresh = true;
    const auto summary = run();
    ASSERT_TRUE(summary) << summary.error().text();
    EXPECT_EQ(summary->trials, 100);
    EXPECT_EQ(*store_->count({.run = summary->run}), 100);
    EXPECT_FALSE(summary->exhausted);
    EXPECT_TRUE(summary->best.ok());
    EXPECT_DOUBLE_EQ(summary->flops, 2e9);
  }
}

TEST_F(TuneTest, TheFirstTrialIsTheDefaultConfiguration) {
  ASSERT_TRUE(run());
  const auto all = records();
  const auto first = std::ranges::find(all, 0, &store::Record::index);
  ASSERT_NE(first, all.end());
  EXPECT_EQ(first->config, subject_.to_json(subject_.default_config()));
  expect_complete(100);
}

// They are a batch of their own, so that nothing is searched before something is measured.
TEST_F(TuneTest, OtherStartsFollowTheDefaultOne) {
  for (std::uint16_t i = 1; i <= 12; ++i) {
    Config start = subject_.default_config();
    start[0] = static_cast<std::uint16_t>(i % subject_.domain().values(0));
    start[1] = static_cast<std::uint16_t>(i / subject_.domain().values(0) + 1);
    subject_.other_starts_.push_back(start);
  }
  ASSERT_TRUE(run());
  const auto all = records();
  const auto starts = subject_.starts();
  const int half = options_.search.first_batch / 2;
  ASSERT_LT(half, static_cast<int>(starts.size()));
  for (int i = 0; i < half; ++i) {
    const auto trial = std::ranges::find(all, i, &store::Record::index);
    ASSERT_NE(trial, all.end());
    EXPECT_EQ(trial->config, subject_.to_json(starts[static_cast<std::size_t>(i)]));
  }
  EXPECT_EQ(std::ranges::count(all, all.front().batch, &store::Record::batch), half);
  expect_complete(100);
}

// A time that is over before anything was built yields a program all the same.
TEST_F(TuneTest, HoweverLittleTimeThereIsOneProgramIsFound) {
  options_.run.seconds = 1e-9;
  options_.race.seconds = 0;
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_GE(summary->trials, 1);
  EXPECT_LE(summary->trials, options_.search.first_batch);
  EXPECT_GT(summary->best_seconds(), 0);
}

TEST_F(TuneTest, TheModelFindsBetterProgramsThanRandom) {
  options_.run.trials = 200;
  options_.race.seconds = 0;
  const auto annealed = run();
  options_.search.name = "random";
  options_.run.fresh = true;
  const auto random = run();
  ASSERT_TRUE(annealed && random);
  EXPECT_LT(annealed->best_seconds(), random->best_seconds());
}

TEST_F(TuneTest, XgboostByItsNameFindsBetterProgramsThanRandom) {
  options_.run.trials = 200;
  options_.race.seconds = 0;
  const auto model = model_of(options_, subject_.tells_cycles());
  ASSERT_TRUE(model);
  const auto annealed =
      tune(subject_, measurer_, *store_, target_, options_,
           *searcher_named("annealing", options_.search.exploration), model->get(), {}, {});
  ASSERT_TRUE(annealed) << annealed.error().text();
  options_.search.name = "random";
  options_.run.fresh = true;
  const auto random = run();
  ASSERT_TRUE(random);
  EXPECT_LT(annealed->best_seconds(), random->best_seconds());
}

TEST_F(TuneTest, EveryModelTunesAndItsRunsAreKeptApart) {
  options_.run.trials = 60;
  options_.race.seconds = 0;
  std::set<std::int64_t> runs;
  for (const auto& [name, acquisition] : {std::pair{"xgb-rank", "mean"},
                                          {"xgb-reg", "mean"},
                                          {"xgb-ensemble", "mean"},
                                          {"xgb-ensemble", "ei"},
                                          {"xgb-ensemble", "ucb"}}) {
    SCOPED_TRACE(std::string(name) + " " + acquisition);
    options_.model.name = name;
    options_.model.acquisition = acquisition;
    const auto model = model_of(options_, subject_.tells_cycles());
    ASSERT_TRUE(model);
    const auto summary =
        tune(subject_, measurer_, *store_, target_, options_,
             *searcher_named("annealing", options_.search.exploration), model->get(), {}, {});
    ASSERT_TRUE(summary) << summary.error().text();
    EXPECT_EQ(summary->trials, 60);
    EXPECT_TRUE((*model)->trained());
    EXPECT_TRUE(runs.insert(summary->run).second) << "a run of another model went on";
  }
}

TEST_F(TuneTest, TheAnalyticModelGuidesTheFirstBatchAndHalfOfItIsChance) {
  search::Oracle oracle;
  options_.run.trials = options_.search.first_batch = 20;
  const auto by_chance = run();
  ASSERT_TRUE(by_chance);
  const double best_by_chance = by_chance->best_seconds();
  subject_.prior_ = &oracle;
  for (const auto& [model, least, most] :
       {std::tuple{"xgb-rank", 8, 12}, {"analytic", 16, 20}, {"none", 0, 1}}) {
    SCOPED_TRACE(model);
    store_ = std::move(*store::open_sqlite(folder_.at(model)));
    options_.model.name = model;
    ASSERT_TRUE(run());
    const auto all = records();
    const auto better =
        std::ranges::count_if(all, [&](const auto& r) { return r.seconds < best_by_chance; });
    EXPECT_GE(better, least);
    EXPECT_LE(better, most);
  }
}

class FirstBatch : public TuneTest {
 protected:
  FirstBatch() {
    options_.race.seconds = 0;
    options_.search.first_batch = options_.run.trials = 20;
    options_.run.fresh = true;
    options_.model.name = "none";
    by_chance_ = run()->best_seconds();
    options_.model.name = "xgb-rank";
  }
  // Of another workload with such times.
  std::shared_ptr<model::CostModel> global_of(const std::function<double(const Config&)>& seconds) {
    model::Rows rows;
    rows.width = subject_.feature_width();
    Rng rng(1);
    for (int i = 0; i < 600; ++i) {
      const Config config = subject_.domain().random(rng);
      for (const auto value : config) rows.features.push_back(static_cast<float>(value));
      rows.seconds.push_back(seconds(config));
      rows.workload.push_back(0);
    }
    std::shared_ptr<model::CostModel> global = model::make_xgboost({});
    EXPECT_TRUE(global->train(rows));
    return global;
  }
  // How many trials of a run beat the best of as many random ones.
  int better_than_chance() {
    store_ = std::move(*store::open_sqlite(folder_.at(std::to_string(++runs_))));
    const auto model = model_of(options_, subject_.tells_cycles());
    const auto summary =
        tune(subject_, measurer_, *store_, target_, options_,
             *searcher_named("annealing", options_.search.exploration), model->get(), {}, {});
    EXPECT_TRUE(summary) << summary.error().text();
    const auto all = records();
    return static_cast<int>(
        std::ranges::count_if(all, [this](const auto& r) { return r.seconds < by_chance_; }));
  }

  double by_chance_ = 0;
  int runs_ = 0;
};

TEST_F(FirstBatch, IsAGlobalModelsChoice) {
  options_.model.global =
      global_of([](const Config& config) { return 7 * search::structured_seconds(config); });
  EXPECT_GE(better_than_chance(), 12);
}

TEST_F(FirstBatch, IsAlsoTheAnalyticModelsBesideAGlobalOne) {
  // knows next to nothing
  options_.model.global =
      global_of([](const Config& config) { return 1 + 1e-3 * (config[0] % 2); });
  EXPECT_LE(better_than_chance(), 6);
  search::Oracle oracle;
  subject_.prior_ = &oracle;
  EXPECT_GE(better_than_chance(), 8);
  options_.model.prior = false;
  const auto calls = oracle.calls;
  EXPECT_LE(better_than_chance(), 6);
  EXPECT_EQ(oracle.calls, calls);
}

TEST_F(FirstBatch, IsInPartWhatFeaturesTellOfCycles) {
  search::Oracle oracle;
  subject_.prior_ = &oracle;
  subject_.cycles_ = [](const Config& config) { return 1e9 * search::structured_seconds(config); };
  const int better = better_than_chance();
  EXPECT_GE(better, 6);
  EXPECT_LE(better, 13) << "chance has no share of what rests on no measurement";
  EXPECT_EQ(oracle.calls, 0) << "the same was asked twice";
  options_.model.prior = false;
  EXPECT_LE(better_than_chance(), 6);
  // A model that does not rank has the analytic one beside it.
  options_.model.prior = true;
  options_.model.name = "xgb-reg";
  EXPECT_GE(better_than_chance(), 6);
  EXPECT_GT(oracle.calls, 0);
}

TEST_F(TuneTest, AWrongAnalyticModelIsOutweighedByMeasurements) {
  class Wrong final : public search::Scorer {
   public:
    bool ready() const override { return true; }
    void score(std::span<const Config> configs, std::span<double> scores) override {
      for (std::size_t i = 0; i < configs.size(); ++i)
        scores[i] = 1e6 * search::structured_seconds(configs[i]);
    }
  } wrong;
  subject_.prior_ = &wrong;
  options_.run.trials = 300;
  options_.race.seconds = 0;
  const auto misled = run();
  options_.search.name = "random";
  options_.run.fresh = true;
  const auto random = run();
  ASSERT_TRUE(misled && random);
  EXPECT_LT(misled->best_seconds(), random->best_seconds());
}

// Programs sent elsewhere, where they take a thousandth of the time.
TEST_F(TuneTest, ARecordIsOfTheMachineThatMeasuredIt) {
  const Fingerprint other{CpuFingerprint{.cpu_name = "Another", .family = 1, .cores = 3}};
  const auto elsewhere = [](const Config& c) { return c[0] % 2 == 1; };
  measurer_.where = [&](const Config& c) { return elsewhere(c) ? other : host_fingerprint(); };
  measurer_.seconds = [&](const Config& c) {
    return search::structured_seconds(c) * (elsewhere(c) ? 1e-3 : 1);
  };
  double announced = 0;
  const auto summary = run([&](const Progress& p) { announced = p.best_seconds; });
  ASSERT_TRUE(summary);
  int there = 0;
  for (const auto& record : records()) {
    const bool was_there = elsewhere(*subject_.from_json(record.config));
    EXPECT_EQ(record.fingerprint, (was_there ? other : host_fingerprint()).text());
    EXPECT_EQ(record.cpu, (was_there ? other : host_fingerprint()).cpu());
    there += was_there;
  }
  EXPECT_GT(there, 0);
  EXPECT_EQ(summary->best.cpu, host_fingerprint().cpu()) << "times of two machines do not compare";
  EXPECT_EQ(announced, summary->best_seconds());
  EXPECT_TRUE(std::ranges::none_of(measurer_.raced, elsewhere));
}

TEST_F(TuneTest, EverythingIsRecorded) {
  const auto summary = run();
  ASSERT_TRUE(summary);
  for (const auto& record : records()) {
    EXPECT_EQ(record.workload, subject_.workload());
    EXPECT_EQ(record.target, target_.text());
    EXPECT_EQ(record.cpu, host_fingerprint().cpu());
    EXPECT_EQ(record.fingerprint, host_fingerprint().text());
    EXPECT_FALSE(record.trace.empty());
    EXPECT_EQ(record.visits.size(), 1U);
    EXPECT_DOUBLE_EQ(record.build_seconds, 0.25);
    EXPECT_GT(record.search_seconds, 0);
    if (record.batch > 1) {  // the first has the default, the second is random
      EXPECT_NE(record.predicted_score, 0);
    }
  }
  EXPECT_DOUBLE_EQ(summary->spent.build, 25);
  EXPECT_DOUBLE_EQ(summary->spent.run, 50);
  double seconds = 0;
  for (const auto& [phase, spent] : summary->phases) seconds += spent;
  EXPECT_NEAR(seconds, summary->seconds, 0.1 * summary->seconds + 1e-3);
  for (const Phase phase :
       {Phase::kStarting, Phase::kSearching, Phase::kTraining, Phase::kMeasuring, Phase::kRacing})
    EXPECT_TRUE(summary->phases.contains(phase)) << name_of(phase);
}

TEST_F(TuneTest, FailuresAreCountedAndLearntFrom) {
  measurer_.fails = [](const Config& c) { return c[0] % 2 == 1; };
  const auto summary = run();
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->trials, 100);
  EXPECT_GT(summary->failed, 0);
  EXPECT_EQ(summary->failed, *store_->count({.ok = false}));
  EXPECT_EQ(summary->main_failure, "timeout: took longer than 5 s");
  EXPECT_EQ(summary->wrong, 0);
}

TEST_F(TuneTest, NothingWorks) {
  measurer_.fails = [](const Config&) { return true; };
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->failed, 100);
  EXPECT_FALSE(summary->best.ok());
  EXPECT_EQ(summary->best_seconds(), 0);
  EXPECT_EQ(measurer_.races, 0);
}

TEST_F(TuneTest, ASmallSpaceIsExhausted) {
  FakeSubject small({3, 2, 2});
  const auto summary = tune(small, measurer_, *store_, target_, options_,
                            *searcher_named("random", {}), nullptr, {}, {});
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->exhausted);
  EXPECT_EQ(summary->trials, 12);
}

TEST_F(TuneTest, TheRaceDecides) {
  // What was measured fastest was luck: the race knows better.
  measurer_.race_seconds = [&](const Config& c) {
    return c == measurer_.raced.front() ? 1.0 : 2e-3 + search::structured_seconds(c);
  };
  const auto summary = run();
  ASSERT_TRUE(summary);
  EXPECT_EQ(measurer_.races, 1);
  ASSERT_GE(measurer_.raced.size(), 2U);
  EXPECT_TRUE(summary->best.raced);
  EXPECT_NE(summary->best.config, subject_.to_json(measurer_.raced.front()));
  EXPECT_EQ((*store_->best({.workload = subject_.workload()}))->id, summary->best.id);
  EXPECT_GT(summary->best_seconds(), 2e-3);
}

TEST_F(TuneTest, ARaceInWhichAllFailChangesNothing) {
  measurer_.race_seconds = [](const Config&) { return std::numeric_limits<double>::infinity(); };
  const auto failed = run();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("could be timed again"), std::string::npos)
      << failed.error().text();
  EXPECT_EQ(*store_->count({}), 100);
  const auto best = store_->best({.workload = subject_.workload()});
  ASSERT_TRUE(best && *best);
  EXPECT_TRUE(std::isfinite((*best)->standing));
  // The same command races again.
  measurer_.race_seconds = {};
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(measurer_.races, 2);
  EXPECT_TRUE(std::isfinite(summary->best_seconds()));
}

TEST_F(TuneTest, BatchesGrowToB) {
  ASSERT_TRUE(run());
  ASSERT_GT(measurer_.batches.size(), 2U);
  EXPECT_EQ(measurer_.batches[0], 1U) << "the default";
  EXPECT_EQ(measurer_.batches[1], 10U);
  EXPECT_EQ(*std::ranges::max_element(measurer_.batches), 20U);
  EXPECT_TRUE(std::isinf(measurer_.best_given.front()));
  EXPECT_TRUE(std::isfinite(measurer_.best_given.back()));
}

TEST_F(TuneTest, SameSeedSameTrials) {
  const auto trials = [&](std::uint64_t seed, const std::string& database) {
    store_ = std::move(*store::open_sqlite(folder_.at(database)));
    options_.run.seed = seed;
    EXPECT_TRUE(run());
    std::vector<std::pair<int, Json>> out;
    for (const auto& record : records()) out.emplace_back(record.index, record.config);
    std::ranges::sort(out, {}, [](const auto& p) { return p.first; });
    return out;
  };
  const auto first = trials(5, "a.db");
  EXPECT_EQ(first, trials(5, "b.db"));
  EXPECT_NE(first, trials(6, "c.db"));
}

TEST_F(TuneTest, UnknownNamesAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(searcher_named("magic", {}).error().message,
            "unknown search \"magic\"; known are annealing, genetic, random");
  options_.model.name = "magic";
  EXPECT_EQ(model_of(options_, subject_.tells_cycles()).error().message,
            "unknown model \"magic\"; known are xgb-rank, xgb-reg, xgb-ensemble, treegru-rank, "
            "treegru-reg, treegru-vanilla-rank, treegru-vanilla-reg, analytic, none");
  options_.model.name = "none";
  EXPECT_FALSE(model_of(options_, subject_.tells_cycles())->get());
  options_.model.acquisition = "luck";
  EXPECT_EQ(model_of(options_, subject_.tells_cycles()).error().message,
            "unknown acquisition \"luck\"; known are mean, ei, ucb");
  options_.model.name = "xgb-rank";
  options_.model.acquisition = "ei";
  EXPECT_EQ(model_of(options_, subject_.tells_cycles()).error().message,
            "acquisition ei needs a model that knows how unsure it is, xgb-ensemble, not xgb-rank");
  options_.model.acquisition = "mean";
  options_.search.exploration.lambda = 0.5;
  EXPECT_EQ(
      run().error().message,
      "epsilon must be from 0 to 1, lambda at least 1 and alpha at least 0, not 0.05, 0.5 and 0.5");
  options_.search.exploration.lambda = 2;
  options_.search.exploration.chains = 0;
  EXPECT_EQ(run().error().message, "annealing needs at least 1 chain and 1 step, not 0 and 20");
  options_.search.exploration.chains = 16;
  options_.run.trials = 0;
  EXPECT_EQ(run().error().message, "the number of trials must be at least 1, not 0");
}

}  // namespace
}  // namespace lathe::tune
