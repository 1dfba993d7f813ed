#include "research/paper/live.h"

#include <algorithm>

namespace lathe::paper {
namespace {

constexpr std::size_t kMostPanels = 15;

std::string csv_text(std::string text) {
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '"');
  return '"' + text + '"';
}

DrawnCurve curve_of(const LiveRun& run) {
  DrawnCurve curve{run.search, {}};
  for (const auto& [seconds, gflops] : run.points)
    curve.points.push_back({seconds, gflops, gflops, gflops});
  return curve;
}

std::string rows_of(const LiveWorkload& workload, const LiveRun& run) {
  std::string rows;
  for (const auto& [seconds, gflops] : run.points)
    rows += fmt::format("{},{},{},{},{},{}\n", csv_text(workload.title), csv_text(workload.target),
                        run.id, run.search, seconds, gflops);
  return rows;
}

}  // namespace

LiveFigure live_figure(const std::vector<LiveWorkload>& workloads) {
  LiveFigure out{{"Figure 10a: the best program over time", "seconds", "GFLOP/s", {}},
                 "workload,target,run,search,seconds,gflops\n"};
  for (const LiveWorkload& workload : workloads) {
    const bool alone = std::ranges::count(workloads, workload.title, &LiveWorkload::title) == 1;
    DrawnPanel panel{alone ? workload.title : workload.title + "; " + workload.target, {}};
    for (const LiveRun& run : workload.runs) {
      panel.curves.push_back(curve_of(run));
      out.csv += rows_of(workload, run);
    }
    if (out.picture.panels.size() < kMostPanels) out.picture.panels.push_back(std::move(panel));
  }
  return out;
}

}  // namespace lathe::paper
