// The `lathe` command.
#pragma once

#include <string>

#include "base/timing_claim.h"

namespace lathe::cli {

// Exit codes.
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

// "lathe: SENTENCE" on standard error, whose own errors are nobody's business.
void complain(const std::string& sentence);
// Says so where another program times something on this machine.
void complain_unless_alone(const TimingClaim& claim);

int run(int argc, const char* const* argv);

}  // namespace lathe::cli
