#include "base/log.h"

#include <cstdlib>
#include <string_view>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace lathe {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kTrace: return spdlog::level::trace;
  }
  return spdlog::level::off;
}

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("lathe", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    const char* wanted = std::getenv("LATHE_LOG");
    made.set_level(wanted == nullptr ? spdlog::level::off : spdlog::level::from_str(wanted));
    return made;
  }();
  return instance;
}

}  // namespace

bool log_enabled(LogLevel level) { return logger().should_log(to_spdlog(level)); }
void log_line(LogLevel level, const std::string& text) { logger().log(to_spdlog(level), text); }

}  // namespace lathe
