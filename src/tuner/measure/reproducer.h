// What a wrong answer leaves behind: everything needed to see it again.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

// Writes workload.te, trace.json, candidate.so and README (seed, worst element, how to replay) to a new folder below
// `where` (empty: the temporary folder); returns its path.
Result<std::string> save_reproducer(const std::string& where, const te::Program& program, const Target& target,
                                    const Candidate& candidate, const Built& built, std::uint64_t seed,
                                    const runner::Loaded& finding);

}  // namespace lathe::measure
