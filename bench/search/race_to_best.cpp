#include "search/race_to_best.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "api/recorded_spaces.h"
#include "tuner/recorded/replay.h"
#include "tuner/store/store.h"

namespace lathe::bench {
namespace {

// Looks on while a replay answers.
class Watch final : public measure::Measurer {
 public:
  Watch(const recorded::Recording& recording, int measurements_a_trial)
      : replay_(recorded::make_replay(recording)), best_(recording.best_seconds()), a_trial_(measurements_a_trial) {}

  Status measure(std::vector<measure::Candidate> batch, double best, const std::function<void(measure::Outcome)>& done,
                 const std::function<bool()>& stop) override {
    return replay_->measure(std::move(batch), best, [&](measure::Outcome outcome) {
      ++measured_;
      if (!outcome.error) see(outcome.seconds);
      done(std::move(outcome));
    }, stop);
  }
  Result<std::vector<double>> race(const std::vector<measure::Candidate>& candidates, measure::CacheMode cache,
                                   double seconds) override {
    return replay_->race(candidates, cache, seconds);
  }
  Result<double> peak_flops() override { return replay_->peak_flops(); }

  bool finished() const { return std::isfinite(reached_.trials_99); }
  const Reached& reached() const { return reached_; }

 private:
  void see(double seconds) {
    const double trials = std::ceil(static_cast<double>(measured_) / a_trial_);
    if (best_ >= 0.95 * seconds) reached_.trials_95 = std::min(reached_.trials_95, trials);
    if (best_ >= 0.99 * seconds) reached_.trials_99 = std::min(reached_.trials_99, trials);
  }

  std::unique_ptr<measure::Measurer> replay_;
  const double best_;
  const int a_trial_;
  int measured_ = 0;
  Reached reached_;
};

}  // namespace

Result<Reached> race_to_best(const recorded::Recording& recording, const Arm& arm, std::uint64_t seed, int trials) {
  tune::Options options = api::replay_options(recording, arm.options);
  options.seed = seed;
  options.trials = trials * arm.measurements_a_trial;
  const auto store = LATHE_TRY(store::open_in_memory());
  Watch watch(recording, arm.measurements_a_trial);
  LATHE_TRY(tune::tune(*recording.space, watch, *store, recording.target, options, {}, [&] { return watch.finished(); }));
  return watch.reached();
}

Result<std::vector<Reached>> race_seeds(const recorded::Recording& recording, const Arm& arm, int seeds, int trials, int jobs,
                                        bool shuffle) {
  std::vector<Result<Reached>> results(static_cast<std::size_t>(seeds));
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int seed = next++; seed < seeds; seed = next++) {
      const auto number = static_cast<std::uint64_t>(seed);
      auto& result = results[static_cast<std::size_t>(seed)];
      result = shuffle ? race_to_best(recording.shuffled(number), arm, number, trials) : race_to_best(recording, arm, number, trials);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int job = 1; job < jobs; ++job) threads.emplace_back(work);
    work();
  }
  std::vector<Reached> reached;
  for (auto& result : results) reached.push_back(LATHE_TRY(result));
  return reached;
}

}  // namespace lathe::bench
