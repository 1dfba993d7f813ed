// The charts of a page, as figures that hold their numbers; page.js draws them.
#pragma once

#include <string>

#include "api/report/report.h"

namespace lathe::cli {

// The speed of the best program so far, over trials and over time, with a line for each run. Empty
// where no trial succeeded.
std::string progress_charts(const report::WorkloadReport& workload);
// How often a knob has each value, among the fastest programs and among all.
std::string knob_chart(const report::Knob& knob, const report::Knobs& of);
// The share of pairs that the model had in order, with a line for each run. Empty where no trial
// was scored.
std::string quality_chart(const report::WorkloadReport& workload);
// The time for building, running, the model and the search, with a bar for each run, or one for all
// runs of a kind where there are many.
std::string spent_chart(const report::WorkloadReport& workload);

// What the runs of a kind share: "annealing, xgb-rank".
std::string kind_of(const report::RunReport& run, const report::WorkloadReport& workload);

}  // namespace lathe::cli
