// Time, and a fixed piece of work that tells how fast the machine is right now.
#pragma once

#include <vector>

namespace lathe::runner {

double now_seconds();                // monotonic

// A kernel of multiplications, additions and loads from the second-level cache, always the same amount of work (some
// 100 microseconds). Timed beside candidates, it shows whether the machine was disturbed meanwhile.
class Sentinel {
 public:
  Sentinel();
  double run();                      // seconds

 private:
  std::vector<float> data_;
  float sink_ = 0;
};

}  // namespace lathe::runner
