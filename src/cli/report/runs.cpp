// How runs went: what they reached when, and what they spent.
#include <algorithm>

#include "base/statistics.h"
#include "cli/progress_line.h"
#include "cli/report/charts.h"
#include "cli/report/html.h"
#include "cli/report/parts.h"
#include "cli/results.h"

namespace lathe::cli {

namespace {
constexpr std::size_t kMostRuns = 100;
}

std::span<const report::RunReport> latest_runs(const report::WorkloadReport& w) {
  const std::span<const report::RunReport> all = w.runs;
  return all.last(std::min(all.size(), kMostRuns));
}

std::string runs_shown(const report::WorkloadReport& w) {
  const std::string all = counted(static_cast<std::int64_t>(w.runs.size()), "run");
  return w.runs.size() <= kMostRuns ? all : fmt::format("the latest {} of {}", kMostRuns, all);
}

std::string progress_text(const report::WorkloadReport& w) {
  std::vector<double> until;
  for (const report::RunReport& run : w.runs)
    if (run.trials_to_95 > 0) until.push_back(run.trials_to_95);
  if (until.empty()) return "No program worked, so there is no progress to show.";
  const double median = quantile(until, 0.5);
  if (w.runs.size() == 1)
    return fmt::format("Trial {:.0f} of {} was the first within 5 % of the fastest.", median,
                       w.runs[0].trials);
  return fmt::format("{} of {} came within 5 % of the fastest program, {}after {:.0f} trials.",
                     until.size(), counted(static_cast<std::int64_t>(w.runs.size()), "run"),
                     until.size() > 1 ? "in the median " : "", median);
}

std::string runs_table(const report::WorkloadReport& w) {
  Table table({{"Run"},
               {"Search, model"},
               {"Seed", true},
               {"Trials", true},
               {"Failed", true},
               {"Fastest", true},
               {"Speed", true},
               {"To 95 %", true},
               {"At work", true}});
  for (const report::RunReport& run : latest_runs(w)) {
    table.text(std::to_string(run.run.id));
    table.words(escaped(kind_of(run, w)));
    table.number(static_cast<double>(run.run.seed), std::to_string(run.run.seed));
    table.number(run.trials, std::to_string(run.trials));
    table.number(run.failed, std::to_string(run.failed));
    table.number(run.best_seconds, run.best_seconds > 0 ? time_text(run.best_seconds) : "–");
    table.number(w.work.speed(run.best_seconds),
                 run.best_seconds > 0 ? speed_text(w.work, run.best_seconds) : "–");
    table.number(run.trials_to_95 > 0 ? run.trials_to_95 : 1e9,
                 run.trials_to_95 > 0 ? std::to_string(run.trials_to_95) : "–");
    table.number(run.seconds, duration_text(run.seconds));
  }
  const std::string html = table.html(false, true);
  return w.runs.size() <= 4 ? html : folded(runs_shown(w) + " as a table", html);
}

std::string spent_text(const report::WorkloadReport& w) {
  report::Spent all;
  double seconds = 0;
  for (const report::RunReport& run : w.runs) {
    all += run.spent;
    seconds += run.seconds;
  }
  const double sum = std::max(all.sum(), 1e-9);
  return fmt::format(
      "{} at work by the clock. Of the processes' time {} went into building, {} into running, {} "
      "into the model and {} into "
      "the search.",
      duration_text(seconds), percent_text(all.build / sum), percent_text(all.run / sum),
      percent_text(all.model / sum), percent_text(all.search / sum));
}

std::string spent_table(const report::WorkloadReport& w) {
  Table table({{"Run"},
               {"Search, model"},
               {"At work", true},
               {"Build", true},
               {"Run", true},
               {"Model", true},
               {"Search", true},
               {"Trials a second", true}});
  for (const report::RunReport& run : latest_runs(w)) {
    table.text(std::to_string(run.run.id));
    table.words(escaped(kind_of(run, w)));
    table.number(run.seconds, duration_text(run.seconds));
    for (const double part : {run.spent.build, run.spent.run, run.spent.model, run.spent.search})
      table.number(part, fmt::format("{:.1f} s", part));
    const double rate = run.seconds > 0 ? run.trials / run.seconds : 0;
    table.number(rate, rate > 0 ? fmt::format("{:.1f}", rate) : "–");
  }
  return folded("Times as a table", table.html(false, true));
}

}  // namespace lathe::cli
