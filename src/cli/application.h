// The `lathe` command.
#pragma once

#include <string>

#include "base/timing_claim.h"

namespace lathe::cli {

// Exit codes.
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

// "lathe: SENTENCE", without what a terminal takes for commands.
std::string complaint(const std::string& sentence);
// Writes that to standard error. If that cannot be written, nothing more can be done.
void complain(const std::string& sentence);
// Complains if another process times something on this machine.
void complain_unless_alone(const TimingClaim& claim);

int run(int argc, const char* const* argv);

}  // namespace lathe::cli
