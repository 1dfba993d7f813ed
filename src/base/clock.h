// Seconds that only go forward.
#pragma once

#include <chrono>

namespace lathe {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lathe
