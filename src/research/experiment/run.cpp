#include "research/experiment/run.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "compiler/te/workload.h"
#include "research/recorded/replay.h"
#include "research/recorded/teach.h"
#include "tuner/learn/global.h"
#include "tuner/store/store.h"

namespace lathe::experiment {
namespace {

// Passes everything on to a replay, and notes its answers.
class Watch final : public measure::Measurer {
 public:
  Watch(const recorded::Recording& recording, int measurements_a_trial, double enough)
      : replay_(recorded::make_replay(recording)),
        a_trial_(measurements_a_trial),
        enough_(recording.best_seconds() / enough) {}

  Fingerprint machine() const override { return replay_->machine(); }
  Status measure(std::vector<measure::Candidate> batch, double best,
                 const std::function<void(measure::Outcome)>& done,
                 const std::function<bool()>& stop) override {
    return replay_->measure(
        std::move(batch), best,
        [&](measure::Outcome outcome) {
          ++measured_;
          if (!outcome.error) see(outcome.seconds);
          done(std::move(outcome));
        },
        stop);
  }
  Result<measure::RaceOutcome> race(const std::vector<measure::Candidate>& candidates,
                                    const measure::RaceOptions& options) override {
    return replay_->race(candidates, options);
  }
  Result<double> peak_flops() override { return replay_->peak_flops(); }

  bool found_enough() const { return best_ <= enough_; }
  const Curve& curve() const { return curve_; }

 private:
  void see(double seconds) {
    if (seconds >= best_) return;
    best_ = seconds;
    curve_.push_back({(measured_ + a_trial_ - 1) / a_trial_, seconds});
  }

  std::unique_ptr<measure::Measurer> replay_;
  const int a_trial_;
  const double enough_;
  int measured_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
  Curve curve_;
};

Result<Curve> run(const recorded::Recording& recording, const Arm& arm, std::uint64_t seed,
                  const RunOptions& how, const std::function<bool()>& stop) {
  tune::Options options = recorded::replay_options(recording, arm.options);
  options.run.seed = seed;
  options.run.trials = how.trials * arm.measurements_a_trial;
  if (how.begin_from) options.model.global = LATHE_TRY(how.begin_from(seed));
  const auto store = LATHE_TRY(store::open_in_memory());
  Watch watch(recording, arm.measurements_a_trial, how.enough);
  LATHE_TRY(tune::tune(*recording.space, watch, *store, recording.target, options, {},
                       [&] { return watch.found_enough() || stop(); }));
  return watch.curve();
}

// Hands out seeds to threads, and what they found to the caller's function.
class Runs {
 public:
  Runs(const recorded::Recording& recording, const Arm& arm,
       const std::vector<std::uint64_t>& seeds, const RunOptions& options, const Finished& finished)
      : recording_(recording), arm_(arm), seeds_(seeds), options_(options), finished_(finished) {}

  Status perform() {
    {
      std::vector<std::jthread> threads;
      const int most = std::min(options_.jobs, static_cast<int>(seeds_.size()));
      for (int job = 1; job < most; ++job) threads.emplace_back([this] { work(); });
      work();
    }
    if (thrown_) std::rethrow_exception(thrown_);
    return status_;
  }

 private:
  void work() {
    try {
      for (std::size_t i = next_++; i < seeds_.size() && !stopped(); i = next_++)
        hand_in(seeds_[i], curve_of(seeds_[i]));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
      failed_ = true;
    }
  }
  Result<Curve> curve_of(std::uint64_t seed) {
    const auto stop = [this] { return stopped(); };
    return options_.shuffled ? run(recording_.shuffled(seed), arm_, seed, options_, stop)
                             : run(recording_, arm_, seed, options_, stop);
  }
  void hand_in(std::uint64_t seed, const Result<Curve>& curve) {
    const std::lock_guard lock(mutex_);
    if (!status_ || stopped()) return;
    status_ = curve ? finished_(seed, *curve) : Status(std::unexpected(curve.error()));
    failed_ = !status_;
  }
  bool stopped() const { return failed_ || options_.stop(); }

  const recorded::Recording& recording_;
  const Arm& arm_;
  const std::vector<std::uint64_t>& seeds_;
  const RunOptions& options_;
  const Finished& finished_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  Status status_;
  std::exception_ptr thrown_;
};

std::string shape_of(const recorded::Recording& of) {
  return learn::shape_of(te::workload_key(of.space->workload()));
}

}  // namespace

Status run_seeds(const recorded::Recording& recording, const Arm& arm,
                 const std::vector<std::uint64_t>& seeds, const RunOptions& options,
                 const Finished& finished) {
  return Runs(recording, arm, seeds, options, finished).perform();
}

bool can_transfer(const recorded::Recording& recording,
                  const std::vector<const recorded::Recording*>& sources) {
  return std::ranges::any_of(
      sources, [&](const auto* source) { return shape_of(*source) != shape_of(recording); });
}

Result<std::shared_ptr<const model::CostModel>> global_for(
    const recorded::Recording& recording, const Arm& arm,
    const std::vector<const recorded::Recording*>& sources, int rows, std::uint64_t seed) {
  const std::string features = tune::features_of(arm.options);
  learn::History history;
  for (const recorded::Recording* source : sources)
    if (shape_of(*source) != shape_of(recording))
      LATHE_TRY_STATUS(recorded::add_rows(*source, features, rows, seed, history));
  const model::GlobalOptions options{.features = features,
                                     .objective = *tune::objective_of(arm.options),
                                     .target_class = model::class_of(recording.target),
                                     .seed = seed};
  return LATHE_TRY(learn::train_global(history, options)).model;
}

}  // namespace lathe::experiment
