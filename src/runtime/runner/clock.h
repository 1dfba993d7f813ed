// Tells the time, and how fast the machine is right now, by a fixed piece of work.
#pragma once

#include <vector>

#include "runtime/runner/channel.h"

namespace lathe::runner {

double now_seconds();  // monotonic

// Tells how much of a stretch of time the threads of this process did not get, because the
// scheduler gave their processors to others. A lone thread that waits for nothing lost the time by
// which the clock exceeds its processor time. Several threads wait for each other; for them the
// system tells how long each was ready to run but did not.
class LostTime {
 public:
  // Watches the threads that exist now; `threads` of them are at work.
  explicit LostTime(int threads);
  void start();
  // Seconds lost since start() by the thread that lost most; `wall` seconds have passed. What is
  // left of these is never less than the threads' mean processor time: the system tells of a wait
  // when it ends, also of one that began before start().
  double since(double wall) const;
  // False for a loss as small as interrupts always cause.
  static bool matters(double lost, double wall) { return lost > 2e-6 + 0.02 * wall; }

 private:
  double waited(const Fd& file) const;

  int threads_;
  // The schedstat of each thread; empty for a lone thread, or where the system does not tell.
  std::vector<Fd> files_;
  std::vector<double> waited_;  // at start(), one for each file
  double processor_ = 0;        // of all threads, at start()
};

// A loop of multiplications, additions and loads from the second-level cache: always the same work,
// of some 100 microseconds. Timed beside candidates, it shows whether the machine was disturbed
// meanwhile.
class Sentinel {
 public:
  Sentinel();
  double run();  // seconds; a run that the scheduler interrupts is repeated

 private:
  void pass();
  double run_once();
  std::vector<float> data_;
  float sink_ = 0;
};

}  // namespace lathe::runner
