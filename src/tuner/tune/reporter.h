// Progress events, also from inside long phases: a thread repeats the last state. Internal to this
// room.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "tuner/tune/tune.h"

namespace lathe::tune {

class Reporter {
 public:
  Reporter(const Options& options, const Listener& listener);
  ~Reporter();

  void phase(Phase phase);
  // Says in words that the reference is being worked out, or no longer.
  void await_reference(bool awaited);
  void race(double seconds);  // the last phase, and how long it will take
  // A trial of this run: from the store (`resumed`), or just finished.
  void trial(const store::Record& record, bool resumed);
  void best(double seconds);
  double elapsed() const;
  Progress now() const;
  // Seconds spent in each phase until now; their sum is elapsed().
  std::map<Phase, double> phases() const;

 private:
  void tick();
  void enter_locked(Phase phase);
  Progress now_locked() const;
  void send_locked();

  const Options& options_;
  const Listener& listener_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  Progress state_;
  std::map<Phase, double> phases_;  // those that are over
  double phase_began_ = 0, race_seconds_ = 0;
  // kind -> how often, the latest message
  std::map<std::string, std::pair<int, std::string>> failures_;
  std::thread ticker_;
};

}  // namespace lathe::tune
