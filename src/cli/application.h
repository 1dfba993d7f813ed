// The `lathe` command.
#pragma once

#include <string>

namespace lathe::cli {

// Exit codes.
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

// "lathe: SENTENCE" on standard error, whose own errors are nobody's business.
void complain(const std::string& sentence);

int run(int argc, const char* const* argv);

}  // namespace lathe::cli
