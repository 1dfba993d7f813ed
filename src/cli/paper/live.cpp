#include "cli/paper/live.h"

#include <algorithm>

#include "api/report/report.h"
#include "api/schedules.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kMostPanels = 15;  // the workloads tuned last

std::string in_a_column(std::string text) {
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '"');
  return '"' + text + '"';
}

std::string label_of(const store::Run& run) {
  return run.search == "annealing" ? run.model : run.search;
}

}  // namespace

Result<LiveFigure> live_figure(const std::string& database) {
  const auto store = LATHE_TRY(api::open_existing(database));
  const auto report = LATHE_TRY(report::gather(*store));
  LiveFigure out{{"Figure 10a: the best program over time", "seconds", "GFLOP/s", {}},
                 "workload,target,run,search,seconds,gflops\n"};
  for (const report::Workload& workload : report.workloads) {
    if (!workload.work.arithmetic) continue;
    const bool alone =
        std::ranges::count(report.workloads, workload.title, &report::Workload::title) == 1;
    DrawnPanel panel{alone ? workload.title : workload.title + "; " + workload.target, {}};
    for (const report::RunReport& run : workload.runs) {
      DrawnCurve curve{label_of(run.run), {}};
      for (const report::Point& point : run.over_seconds) {
        curve.steps.push_back({point.x, point.y, point.y, point.y});
        out.csv +=
            fmt::format("{},{},{},{},{},{}\n", in_a_column(workload.title),
                        in_a_column(workload.target), run.run.id, curve.label, point.x, point.y);
      }
      panel.curves.push_back(std::move(curve));
    }
    if (out.picture.panels.size() < kMostPanels) out.picture.panels.push_back(std::move(panel));
  }
  if (out.picture.panels.empty())
    return fail_at(
        database, ErrorKind::kNotFound,
        "it has no run whose speed is in GFLOP/s; tune some workload, or name another with --db");
  return out;
}

}  // namespace lathe::cli
