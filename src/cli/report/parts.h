// The texts and tables of the page, as HTML. A text tells what the chart beside it shows; a table
// has the chart's numbers.
#pragma once

#include <span>
#include <string>

#include "api/report/report.h"
#include "cli/report/page.h"

namespace lathe::cli {

// All workloads, one row for each; the first `sections` are links to theirs.
std::string workloads_table(const report::Report& report, std::size_t sections);
// The reasons of all failures; empty if there were none.
std::string failures_overview(const report::Report& report);
// The section of a workload. The link of the first is "#w0".
std::string workload_section(const report::WorkloadReport& workload, std::size_t number,
                             const PageInfo& info);

// What was reached, how certain that is, and the best program with its schedule.
std::string result_html(const report::WorkloadReport& workload);
std::string program_html(const report::WorkloadReport& workload, const PageInfo& info);

// The runs that charts and tables show: the latest, where there are more than a screen tells apart.
std::span<const report::RunReport> latest_runs(const report::WorkloadReport& workload);
// "5 runs", or "the latest 100 of 5000 runs".
std::string runs_shown(const report::WorkloadReport& workload);

std::string progress_text(const report::WorkloadReport& workload);
std::string runs_table(const report::WorkloadReport& workload);
std::string spent_text(const report::WorkloadReport& workload);
std::string spent_table(const report::WorkloadReport& workload);

std::string knobs_text(const report::Knobs& knobs);
std::string knob_charts(const report::Knobs& knobs);
std::string knobs_table(const report::Knobs& knobs);
std::string quality_text(const report::WorkloadReport& workload);
std::string quality_table(const report::WorkloadReport& workload);

std::string failures_text(const report::WorkloadReport& workload);
std::string failures_table(const report::WorkloadReport& workload);

// These put values into words: "198.2 GFLOP/s", "12 %" (with a no-break space), "2026-08-01 10:00
// UTC" (a text that is no time stays as it is).
std::string speed_text(const report::Work& work, double seconds);
std::string percent_text(double share);
std::string share_text(int part, int whole);  // the same
std::string date_text(const std::string& time);

}  // namespace lathe::cli
