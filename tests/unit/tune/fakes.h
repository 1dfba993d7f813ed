// A subject, a measurer and a model that need no machine: Algorithm 1 is tested on them.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "tuner/tune/tune.h"
#include "unit/search/synthetic.h"

namespace lathe::tune {

using space::Config;

class FakeSubject final : public Subject {
 public:
  explicit FakeSubject(std::vector<int> radix, int limit = 1 << 20)
      : domain_(std::move(radix), limit) {}

  const space::Domain& domain() const override { return domain_; }
  std::string workload() const override { return workload_; }
  double flops() const override { return 2e9; }
  std::string space_hash() const override { return "00aa"; }
  std::vector<Config> starts() const override {
    std::vector<Config> all = {default_config()};
    all.insert(all.end(), other_starts_.begin(), other_starts_.end());
    return all;
  }
  Config default_config() const { return Config(static_cast<std::size_t>(domain_.knobs()), 0); }
  // The configuration, spelt as splits: the fake measurer reads it back.
  schedule::Trace trace(const Config& config) const override {
    schedule::Trace trace;
    for (const auto value : config)
      trace.push_back(schedule::Split{"l", std::int64_t{value}, "o", "i"});
    return trace;
  }
  Json trace_json(const Config& config) const override { return Json::array({to_json(config)}); }
  Json to_json(const Config& config) const override { return config; }
  Result<Config> from_json(const Json& json) const override {
    if (!json.is_array()) return fail(ErrorKind::kInvalidArgument, "not a configuration");
    return json.get<Config>();
  }
  int feature_width() const override { return domain_.knobs() + (cycles_ ? 1 : 0); }
  void features(std::span<const Config> configs, std::span<float> out, int) const override {
    std::size_t i = 0;
    for (const auto& config : configs) {
      for (const auto value : config) out[i++] = static_cast<float>(value);
      if (cycles_) out[i++] = static_cast<float>(std::log2(cycles_(config)));
    }
  }

  search::Scorer* prior() const override { return prior_; }
  bool tells_cycles() const override { return cycles_ != nullptr; }

  std::string workload_ = "C[i] = A[i]";
  search::Scorer* prior_ = nullptr;
  std::function<double(const Config&)> cycles_;  // which the last feature tells, where it is set
  std::vector<Config> other_starts_;

 private:
  search::Synthetic domain_;
};

inline Config config_of(const schedule::Trace& trace) {
  Config config;
  for (const auto& step : trace)
    config.push_back(
        static_cast<std::uint16_t>(std::get<std::int64_t>(std::get<schedule::Split>(step).factor)));
  return config;
}

class FakeMeasurer final : public measure::Measurer {
 public:
  Fingerprint machine() const override { return host_fingerprint(); }
  Status measure(std::vector<measure::Candidate> batch, double best,
                 const std::function<void(measure::Outcome)>& done,
                 const std::function<bool()>& stop) override {
    batches.push_back(batch.size());
    while (without_reference)
      if (stop()) return {};
      else std::this_thread::sleep_for(std::chrono::milliseconds(5));
    best_given.push_back(best);
    // In an order of its own, as parallel runners would.
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto& candidate = batch[(i * 7 + 3) % batch.size()];
      if (i > 0 && batch.size() % 7 == 0) break;
      if (stop()) return {};
      done(outcome(candidate));
    }
    if (batch.size() % 7 == 0)
      for (std::size_t i = 0; i < batch.size(); ++i)
        if (i != 3 % batch.size() && !stop()) done(outcome(batch[i]));
    return {};
  }
  Result<measure::RaceOutcome> race(const std::vector<measure::Candidate>& candidates,
                                    const measure::RaceOptions& options) override {
    ++races;
    race_given = options;
    measure::RaceOutcome out;
    out.speed = race_speed;
    out.disturbed = race_disturbed;
    if (while_racing) while_racing();
    for (const auto& candidate : candidates) {
      raced.push_back(config_of(candidate.trace));
      const double time = race_seconds ? race_seconds(raced.back()) : seconds(raced.back());
      out.racers.push_back({.ran = true,
                            .failed = std::isinf(time),
                            .seconds = time,
                            .spread = race_spread,
                            .rounds = 10});
    }
    return out;
  }
  Result<double> peak_flops() override { return 1e11; }
  bool awaits_reference() const override { return without_reference; }

  std::function<double(const Config&)> seconds = search::structured_seconds;
  std::function<double(const Config&)> race_seconds, sentinel;
  std::function<Fingerprint(const Config&)> where;  // it was measured; empty: here
  std::function<bool(const Config&)> fails = [](const Config&) { return false; };
  std::function<void(const Config&)> before = [](const Config&) {};
  std::vector<Config> measured, raced;
  std::vector<std::size_t> batches;
  std::vector<double> best_given;
  int races = 0;
  std::atomic<bool> without_reference = false;
  measure::RaceOptions race_given;
  measure::Speed race_speed;
  bool race_disturbed = false;
  double race_spread = 0;
  std::function<void()> while_racing;

 private:
  measure::Outcome outcome(const measure::Candidate& candidate) {
    const Config config = config_of(candidate.trace);
    before(config);
    measured.push_back(config);
    measure::Outcome out;
    out.tag = candidate.tag;
    out.machine = where ? where(config) : machine();
    out.program_hash = "p";
    out.build_seconds = 0.25;
    out.run_seconds = 0.5;
    if (fails(config)) {
      out.error = Error{ErrorKind::kTimeout, "took longer than 5 s", "runner"};
      return out;
    }
    out.seconds = seconds(config);
    out.visits = {{{out.seconds}, sentinel ? sentinel(config) : 1e-4, {}}};
    return out;
  }
};

// The mean over the nearest measured rows: enough of a model to be better than chance.
class NearestModel final : public model::CostModel {
 public:
  Status train(const model::Rows& rows) override {
    rows_ = rows;
    ++trainings;
    return {};
  }
  Status update(const model::Rows& rows) override {
    ++updates;
    return train(rows);
  }
  bool trained() const override { return rows_.count() > 0; }
  Status predict(std::span<const float> features, int width,
                 std::span<float> scores) const override {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      double sum = 0, weights = 0;
      for (int row = 0; row < rows_.count(); ++row) {
        if (!std::isfinite(rows_.seconds[row])) continue;
        double distance = 1e-3;
        for (int k = 0; k < width; ++k) {
          const double d =
              features[i * width + k] - rows_.features[static_cast<std::size_t>(row) * width + k];
          distance += d * d;
        }
        sum += -std::log(rows_.seconds[row]) / (distance * distance);
        weights += 1 / (distance * distance);
      }
      scores[i] = static_cast<float>(weights > 0 ? sum / weights : 0);
    }
    return {};
  }
  Result<std::string> save() const override { return std::string(); }
  Status load(const std::string&) override { return {}; }

  model::Rows rows_;
  int trainings = 0, updates = 0;
};

class TuneTest : public testing::Test {
 protected:
  TuneTest() {
    store_ = std::move(*store::open_sqlite(folder_.at("records.db")));
    options_.run.jobs = 1;  // XGBoost's threads would only wait for each other on so few rows
    options_.run.trials = 100;
    options_.search.batch = 20;
    options_.search.first_batch = 10;
    options_.search.exploration.steps = 20;
    options_.search.exploration.chains = 16;
  }
  Result<Summary> run(const Listener& listener = {}, const std::function<bool()>& stop = {}) {
    NearestModel model;
    auto summary =
        tune(subject_, measurer_, *store_, target_, options_,
             *searcher_named(options_.search.name, options_.search.exploration),
             options_.model.name == "none" || options_.model.name == "analytic" ? nullptr : &model,
             listener, stop);
    EXPECT_EQ(model.trainings, model.updates) << "models may go on from what they know";
    return summary;
  }
  std::vector<store::Record> records(const store::Query& query = {}) {
    std::vector<store::Record> out;
    EXPECT_TRUE(store_->each(query, [&](const store::Record& r) {
      out.push_back(r);
      return true;
    }));
    return out;
  }
  // Of one run: indices 0 ... n-1 each once, configurations each once.
  void expect_complete(int trials) {
    std::set<int> indices;
    std::set<std::string> configs;
    for (const auto& record : records()) {
      EXPECT_TRUE(indices.insert(record.index).second);
      EXPECT_TRUE(configs.insert(record.config.dump()).second)
          << "trial repeated: " << record.config.dump();
    }
    EXPECT_EQ(static_cast<int>(indices.size()), trials);
    if (!indices.empty()) {
      EXPECT_EQ(*indices.rbegin(), trials - 1);
    }
  }

  const test::TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_;
  FakeSubject subject_{std::vector<int>(6, 12), 50};
  FakeMeasurer measurer_;
  Target target_ = *parse_target("cpu:x86-64");
  Options options_;
};

}  // namespace lathe::tune
