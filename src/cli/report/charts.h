// The charts of a page, as figures that hold their numbers; page.js draws them.
#pragma once

#include <string>

#include "api/report/report.h"

namespace lathe::cli {

// Speed of the best program so far, a line a run: over trials, and over time. Empty where nothing
// worked.
std::string progress_charts(const report::Workload& workload);
// A knob's values among the fastest programs and among all.
std::string knob_chart(const report::Knob& knob, const report::Knobs& of);
// Share of pairs that the model had in order, a line a run. Empty where no trial was scored.
std::string quality_chart(const report::Workload& workload);
// Build, run, model and search time, a bar a run, or one for all runs of a kind where there are
// many.
std::string spent_chart(const report::Workload& workload);

// What runs of a kind share: "annealing, xgb-rank".
std::string kind_of(const report::RunReport& run, const report::Workload& workload);

}  // namespace lathe::cli
