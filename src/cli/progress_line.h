// How a tuning run shows itself while it runs: one live line on a terminal, elsewhere a plain line now and then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "tuner/tune/tune.h"

namespace lathe::cli {

// "37/512 trials, 2 failed (timeout: ...) | best 198.2 GFLOP/s, 82 % of peak | 14.1 trials/s | 0:33 left | measuring"
std::string progress_text(const tune::Progress& progress, double flops, double peak);
// Cut to `columns`, whole UTF-8 characters.
std::string cut(const std::string& text, std::size_t columns);
std::string duration_text(double seconds);  // "0:33", "1:02:03"

class ProgressLine {
 public:
  // Prints from a thread of its own, so that nothing the caller does makes it silent.
  ProgressLine(std::FILE* out, double flops);
  ~ProgressLine();
  void update(const tune::Progress& progress, double peak);
  // Takes the live line away; nothing is printed after.
  void finish();

 private:
  void loop();
  void print_locked();

  std::FILE* out_;
  const bool live_;
  const double flops_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  tune::Progress progress_;
  double peak_ = 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

}  // namespace lathe::cli
