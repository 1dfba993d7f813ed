// The `lathe` command.
#pragma once

namespace lathe::cli {

// Exit codes.
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

int run(int argc, const char* const* argv);

}  // namespace lathe::cli
