// Work that takes a while, with a line that says what is being done.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "cli/live_line.h"
#include "cli/progress_line.h"

namespace lathe::cli {

// Calls `work` with a function that says what is being done, beside how long it takes already.
template <class Work>
auto with_live_line(const std::string& what, const Work& work) {
  const auto began = std::chrono::steady_clock::now();
  std::mutex lock;
  std::string now = what;
  LiveLine line(stderr, [&](std::size_t columns) {
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - began;
    const std::scoped_lock guard(lock);
    return cut(fmt::format("{}, {}", now, duration_text(past.count())), columns);
  });
  auto result = work([&](const std::string& said) {
    const std::scoped_lock guard(lock);
    now = fmt::format("{}: {}", what, said);
  });
  line.finish();
  return result;
}

}  // namespace lathe::cli
