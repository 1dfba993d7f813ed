// Tells what failed, and why.
#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "cli/live_line.h"
#include "cli/report/html.h"
#include "cli/report/parts.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kLongestReason = 600;  // characters shown

// One kind of failure in all workloads.
struct Everywhere {
  int trials = 0, workloads = 0;
  report::Reason main;
};

}  // namespace

std::string failures_overview(const report::Report& report) {
  std::map<std::string, Everywhere> kinds;
  int trials = 0, failed = 0;
  for (const report::WorkloadReport& w : report.workloads) {
    trials += w.trials;
    failed += w.failed;
    for (const report::Failure& failure : w.failures) {
      Everywhere& kind = kinds[failure.kind];
      kind.trials += failure.count;
      ++kind.workloads;
      if (!failure.reasons.empty() && failure.reasons.front().count > kind.main.count)
        kind.main = failure.reasons.front();
    }
  }
  if (kinds.empty()) return "";
  std::vector<std::pair<std::string, Everywhere>> rows(kinds.begin(), kinds.end());
  std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second.trials; });
  Table table({{"Kind"},
               {"Trials", true},
               {"Of all", true},
               {"Workloads", true},
               {"Most frequent reason"}});
  for (const auto& [kind, everywhere] : rows) {
    table.text(escaped(kind));
    table.number(everywhere.trials, std::to_string(everywhere.trials));
    table.number(everywhere.trials, share_text(everywhere.trials, trials));
    table.number(everywhere.workloads, std::to_string(everywhere.workloads));
    table.words(escaped(cut(everywhere.main.message, kLongestReason)));
  }
  return fmt::format(
      "<section aria-labelledby=\"failures\">\n<h2 id=\"failures\">Failures</h2>\n<p>{} of {} "
      "failed ({}).</p>\n{}</section>",
      failed, counted(trials, "trial"), share_text(failed, trials), table.html());
}

std::string failures_text(const report::WorkloadReport& w) {
  if (w.failed == 0) return "None.";
  return fmt::format("{} of {} ({}).", w.failed, counted(w.trials, "trial"),
                     share_text(w.failed, w.trials));
}

std::string failures_table(const report::WorkloadReport& w) {
  if (w.failures.empty()) return "";
  Table table({{"Kind"}, {"Trials", true}, {"Of all", true}, {"Reason"}, {"Where"}});
  for (const report::Failure& failure : w.failures) {
    int left = failure.count;
    for (const report::Reason& reason : failure.reasons) {
      table.text(escaped(failure.kind));
      table.number(reason.count, std::to_string(reason.count));
      table.number(reason.count, share_text(reason.count, w.trials));
      table.words(escaped(cut(reason.message, kLongestReason)));
      table.words(escaped(cut(reason.place, kLongestReason)));
      left -= reason.count;
    }
    if (left == 0) continue;
    table.text(escaped(failure.kind));
    table.number(left, std::to_string(left));
    table.number(left, share_text(left, w.trials));
    table.words("other reasons");
    table.words("");
  }
  return table.html();
}

}  // namespace lathe::cli
