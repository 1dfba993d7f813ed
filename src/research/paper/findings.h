// Tells whether a finding of the paper holds here, by a rule that was written before there was any
// recording.
#pragma once

#include <string>
#include <vector>

#include "research/paper/figures.h"

namespace lathe::paper {

// The rule in words.
inline constexpr const char* kRule =
    "On each space the trials to 95 % of the best are compared by a two-sided Mann-Whitney test "
    "over the seeds (a run that does not "
    "get there counts as slower than all that do; p < 0.05 is a difference; under 5 runs of "
    "either, runs that are "
    "still to come, or none that gets there decide nothing; of 5 runs each only a difference "
    "between nearly all of them is seen). \"Fewer trials\" holds where there are "
    "fewer on more than half of the spaces and more on none, and holds in part where there are "
    "fewer on more spaces than more. \"Not more\" holds where there are more on none, and in part "
    "where on less than half. \"No difference\" "
    "holds where there is none on more than half, and in part where on some. Where most spaces "
    "decide nothing, nothing is "
    "decided.";

enum class Outcome { kFewer, kMore, kSame, kUndecided };
// Compares the trials that the runs of `arm` and those of `against` needed: one value for each run,
// infinity where it did not get there.
Outcome compare(const std::vector<double>& arm, const std::vector<double>& against);

enum class Verdict { kHolds, kInPart, kFails, kUndecided };
Verdict judge(Expected expected, const std::vector<Outcome>& outcomes);

std::string_view text_of(Outcome outcome);
std::string_view text_of(Expected expected);
std::string_view text_of(Verdict verdict);

}  // namespace lathe::paper
