// Figure 10a: the best program of live runs over wall-clock time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "research/paper/picture.h"

namespace lathe::paper {

struct LiveRun {
  std::int64_t id = 0;
  std::string search;                             // the curve's label
  std::vector<std::pair<double, double>> points;  // seconds, GFLOP/s of the best until then
};
struct LiveWorkload {
  std::string title, target;
  std::vector<LiveRun> runs;
};

struct LiveFigure {
  Picture picture;  // a panel for each of the first workloads
  std::string csv;  // of all workloads, as rows
};
LiveFigure live_figure(const std::vector<LiveWorkload>& workloads);

}  // namespace lathe::paper
