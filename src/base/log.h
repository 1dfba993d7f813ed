// Diagnostics for developers, on standard error, off unless LATHE_LOG is set (error, warn, info,
// debug, trace). What a user must see is returned or sent as an event, never logged: libraries do
// not print.
#pragma once

#include <string>

#include <fmt/format.h>

namespace lathe {

enum class LogLevel { kError, kWarn, kInfo, kDebug, kTrace };
bool log_enabled(LogLevel level);
void log_line(LogLevel level, const std::string& text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace lathe
