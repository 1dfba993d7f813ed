// How a tuning run shows itself while it runs.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "cli/live_line.h"
#include "tuner/tune/tune.h"

namespace lathe::cli {

// What a run is about.
struct Subject {
  std::string label;  // "C6, 2 threads"; left out where there is no room
  // Of the workload: as papers count them, and those that must be done.
  double flops = 0, done_flops = 0;
  // What is said once, when the run has begun; empty: nothing.
  std::string first;
};
// Describes a workload in the user's words, cut to some 30 characters.
std::string label_of(const std::string& workload, const Target& target);

// "C6, 1 thread: 37/512 trials, 2 failed (timeout: ...) | best 198.2 GFLOP/s, 82 % of peak | 14.1
// trials/s | 0:33 left | measuring", in fewer words where there are few columns.
std::string progress_text(const tune::Progress& progress, const Subject& subject, double peak,
                          std::size_t columns = std::string::npos);
std::string duration_text(double seconds);  // "0:33", "1:02:03"

// Shows that Ctrl-C was noticed, before it takes effect.
tune::Progress heeding_interrupts(tune::Progress progress);

class ProgressLine {
 public:
  ProgressLine(std::FILE* out, Subject subject);
  void update(const tune::Progress& progress, double peak);
  // Removes the line; nothing is printed afterwards.
  void finish() { line_.finish(); }

 private:
  std::string text(std::size_t columns);

  const Subject subject_;
  std::once_flag said_;
  std::mutex mutex_;
  tune::Progress progress_;
  double peak_ = 0;
  LiveLine line_;
};

}  // namespace lathe::cli
