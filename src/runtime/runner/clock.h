// Time, and a fixed piece of work that tells how fast the machine is right now.
#pragma once

#include <vector>

#include "runtime/runner/channel.h"

namespace lathe::runner {

double now_seconds();  // monotonic

// How much of a stretch of time the threads of this process did not get, because the scheduler gave
// their processors to others. A lone thread that does not wait for anything lost what the clock
// counts beyond its processor time; of several, which wait for each other, the system tells how
// long each was ready to run and did not.
class LostTime {
 public:
  // Of the threads that there are now; `threads` are at work.
  explicit LostTime(int threads);
  void start();
  // Seconds since start(), of the thread that lost most; `wall` seconds have passed.
  double since(double wall) const;
  // So little is lost to interrupts all the time.
  static bool matters(double lost, double wall) { return lost > 2e-6 + 0.02 * wall; }

 private:
  double waited(const Fd& file) const;

  // schedstat of each thread; empty: a lone one, or the system does not tell
  std::vector<Fd> files_;
  std::vector<double> waited_;  // at start(), an entry a file
  double processor_ = 0;        // at start()
};

// A kernel of multiplications, additions and loads from the second-level cache, always the same
// amount of work (some 100 microseconds). Timed beside candidates, it shows whether the machine was
// disturbed meanwhile.
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
