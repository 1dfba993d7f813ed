// Runs generated code, and tells which memory it may not touch it touched.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lathe::testing {

// What was wrong, if the function got a signal that would have ended the process. What it holds on
// its stack is not taken down then. For one thread at a time.
std::optional<std::string> caught(const std::function<void()>& run);

}  // namespace lathe::testing
