// A reproducer: what a wrong answer leaves behind, with everything that is needed to see it again.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/reference_check.h"

namespace lathe::measure {

// Writes workload.te, trace.json, candidate.so and README (the seed, the worst element, how to
// measure it again) to a new folder below `where` (empty: the temporary folder), which only this
// user can open. Returns the folder's path.
Result<std::string> save_reproducer(const std::string& where, const te::Workload& workload,
                                    const Target& target, const Candidate& candidate,
                                    const Built& built, std::uint64_t seed,
                                    const runner::Loaded& finding);

// The same for a reference that is itself wrong: reference.te is the text that was built,
// candidate.so is its code, and the trace is empty, so that measuring it again computes the
// reference again.
Result<std::string> save_reference_reproducer(const std::string& where,
                                              const te::Workload& workload, const Target& target,
                                              const te::Workload& reference, const Built& built,
                                              std::uint64_t seed, const Disagreement& finding);

std::string element_text(const te::Workload& workload, int output, std::int64_t index);  // "C[5,7]"

}  // namespace lathe::measure
