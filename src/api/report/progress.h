// The best so far, over trials and over time. Internal to this room.
#pragma once

#include <string>

#include "api/report/trial.h"

namespace lathe::report {

// Seconds since 1970 of a record's time ("2026-08-01T10:00:00.125Z"; the fraction may be missing).
// NaN if the text is no time.
double clock_of(const std::string& time);

// How many seconds the run had been at work when each trial was finished: by the clock, without
// pauses between two commands.
std::vector<double> seconds_at_work(Trials trials);

// Points where the fastest time so far fell, as speeds, and one at the last trial. `x` must grow.
// Steps that are too small to be seen are joined to the next one.
std::vector<Point> best_so_far(Trials trials, std::span<const double> x, const Work& work);

// Counts from 1; 0 if no trial took at most `seconds`.
int trials_until(Trials trials, double seconds);

}  // namespace lathe::report
