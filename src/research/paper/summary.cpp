#include "research/paper/summary.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "compiler/te/workload.h"

namespace lathe::paper {
namespace {

constexpr double kNear = 0.95;
constexpr int kSteps = 200;  // of a drawn curve, at most

double flops_of(const Panel& panel) { return te::flops(panel.space->recording.space->workload()); }

DrawnCurve drawn(const std::string& label, const std::vector<experiment::Curve>& curves, int trials,
                 double flops) {
  DrawnCurve out{label, {}};
  if (curves.empty()) return out;
  const int stride = std::max(1, trials / kSteps);
  for (int trial = 1; trial <= trials;
       trial = trial < trials ? std::min(trials, trial + stride) : trials + 1) {
    std::vector<double> speeds;
    for (const auto& curve : curves)
      speeds.push_back(1e-9 * flops / experiment::best_after(curve, trial));
    out.points.push_back({static_cast<double>(trial), quantile(speeds, 0.25), quantile(speeds, 0.5),
                          quantile(speeds, 0.75)});
  }
  return out;
}

std::vector<double> trials_to_95(const Cell& cell, const Settings& settings, const RawRows& rows) {
  std::vector<double> trials;
  for (const auto& curve : curves_of(cell, settings, rows))
    trials.push_back(experiment::trials_to(curve, cell.space->recording.best_seconds(), kNear));
  return trials;
}

// True if all runs of a cell are there. Seeds that find the best quickly end first, so that the
// first runs alone would say nothing of the others.
bool finished(const Cell& cell, const std::vector<double>& runs) {
  return std::ssize(runs) == cell.seeds;
}

Outcome outcome_of(const Cell& arm, const Cell& against, const Settings& settings,
                   const RawRows& rows) {
  const auto ours = trials_to_95(arm, settings, rows),
             theirs = trials_to_95(against, settings, rows);
  return finished(arm, ours) && finished(against, theirs) ? compare(ours, theirs)
                                                          : Outcome::kUndecided;
}

const Cell* cell_of(const Panel& panel, const std::string& arm) {
  const auto found =
      std::ranges::find_if(panel.cells, [&](const Cell& cell) { return cell.arm.name == arm; });
  return found == panel.cells.end() ? nullptr : &*found;
}

}  // namespace

Picture picture_of(const Sheet& sheet, const Settings& settings, const RawRows& rows) {
  Picture picture{sheet.figure.title, "trials", "GFLOP/s", {}};
  for (const PanelSet& set : sheet.sets)
    for (const Panel& panel : set.panels) {
      DrawnPanel drawn_panel{panel.title, {}};
      for (const Cell& cell : panel.cells)
        drawn_panel.curves.push_back(
            drawn(cell.label, curves_of(cell, settings, rows), settings.trials, flops_of(panel)));
      picture.panels.push_back(std::move(drawn_panel));
    }
  return picture;
}

std::vector<ArmNumbers> numbers_of(const Panel& panel, const Settings& settings,
                                   const RawRows& rows) {
  std::vector<ArmNumbers> out;
  for (const Cell& cell : panel.cells) {
    const auto trials = trials_to_95(cell, settings, rows);
    std::vector<double> ends;
    for (const auto& curve : curves_of(cell, settings, rows))
      ends.push_back(panel.space->recording.best_seconds() /
                     experiment::best_after(curve, settings.trials));
    if (ends.empty()) continue;
    out.push_back(
        {panel.title, cell.label, cell.seeds, static_cast<int>(trials.size()),
         static_cast<int>(std::ranges::count_if(trials, [](double t) { return std::isfinite(t); })),
         quantile(trials, 0.25), quantile(trials, 0.5), quantile(trials, 0.75),
         quantile(ends, 0.5)});
  }
  return out;
}

std::vector<Judged> judged(const PanelSet& set, const Settings& settings, const RawRows& rows) {
  std::vector<Judged> out;
  for (const Claim& claim : set.setting.claims) {
    Judged one{.setting = set.setting.title, .expected = claim.expected};
    std::vector<Outcome> outcomes;
    for (const Panel& panel : set.panels) {
      const auto *arm = cell_of(panel, claim.arm), *against = cell_of(panel, claim.against);
      if (arm == nullptr || against == nullptr) continue;
      one.arm = arm->label;
      one.against = against->label;
      outcomes.push_back(outcome_of(*arm, *against, settings, rows));
      one.outcomes.emplace_back(panel.space->recording.name, outcomes.back());
    }
    one.verdict = judge(claim.expected, outcomes);
    if (!outcomes.empty()) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace lathe::paper
