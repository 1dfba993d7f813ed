#include "tuner/tune/reporter.h"

#include <algorithm>

#include "tuner/tune/final_race.h"

namespace lathe::tune {
Reporter::Reporter(const Options& options, const Listener& listener)
    : options_(options), listener_(listener) {
  state_.wanted = options.run.trials;
  if (!listener_) return;
  send_locked();
  ticker_ = std::thread([this] { tick(); });
}

Reporter::~Reporter() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  if (ticker_.joinable()) ticker_.join();
}

void Reporter::tick() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::milliseconds(400), [this] { return done_; }))
    send_locked();
  send_locked();
}

void Reporter::phase(Phase phase) {
  const std::lock_guard lock(mutex_);
  enter_locked(phase);
}

void Reporter::await_reference(bool awaited) {
  const std::lock_guard lock(mutex_);
  if (awaited != state_.doing.empty()) return;
  state_.doing = awaited ? "working out the reference" : "";
  send_locked();
}

void Reporter::race(double seconds) {
  const std::lock_guard lock(mutex_);
  race_seconds_ = seconds;
  enter_locked(Phase::kRacing);
}

void Reporter::enter_locked(Phase phase) {
  const double now = elapsed();
  phases_[state_.phase] += now - phase_began_;
  phase_began_ = now;
  state_.phase = phase;
  state_.doing.clear();
  send_locked();
}

std::map<Phase, double> Reporter::phases() const {
  const std::lock_guard lock(mutex_);
  auto phases = phases_;
  phases[state_.phase] += elapsed() - phase_began_;
  return phases;
}

void Reporter::trial(const store::Record& record, bool resumed) {
  const std::lock_guard lock(mutex_);
  ++state_.trials;
  state_.resumed += resumed;
  if (!record.ok()) {
    ++state_.failed;
    auto& [count, message] = failures_[record.error_kind];
    ++count;
    message = record.error_message;
    const auto most =
        std::ranges::max_element(failures_, {}, [](const auto& f) { return f.second.first; });
    state_.main_failure = most->first + ": " + most->second.second;
  }
  if (!resumed) send_locked();
}

void Reporter::best(double seconds) {
  const std::lock_guard lock(mutex_);
  state_.best_seconds = seconds;
}

double Reporter::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

Progress Reporter::now() const {
  const std::lock_guard lock(mutex_);
  return now_locked();
}

Progress Reporter::now_locked() const {
  Progress progress = state_;
  progress.elapsed_seconds = elapsed();
  const bool racing = state_.phase == Phase::kRacing;
  const int fresh = state_.trials - state_.resumed;
  if (fresh > 0)
    progress.trials_per_second = fresh / (racing ? phase_began_ : progress.elapsed_seconds);
  if (racing)
    progress.left_seconds =
        std::max(0.0, race_seconds_ - (progress.elapsed_seconds - phase_began_));
  else if (fresh > 0) {
    const double measuring =
        std::max(0, state_.wanted - state_.trials) / progress.trials_per_second;
    progress.left_seconds = measuring + race_time(options_, progress.elapsed_seconds + measuring);
  }
  if (options_.run.seconds > 0) {
    const double left = std::max(0.0, options_.run.seconds - progress.elapsed_seconds);
    progress.left_seconds = fresh > 0 || racing ? std::min(progress.left_seconds, left) : left;
  }
  return progress;
}

void Reporter::send_locked() {
  if (listener_) listener_(now_locked());
}

}  // namespace lathe::tune
