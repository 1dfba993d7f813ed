// Turns the runs of a figure into what is drawn and written about them.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "research/paper/findings.h"
#include "research/paper/picture.h"
#include "research/paper/runs.h"

namespace lathe::paper {

// Trials against GFLOP/s: median and quartiles over the seeds.
Picture picture_of(const Sheet& sheet, const Settings& settings, const RawRows& rows);

struct ArmNumbers {
  std::string space, label;
  int wanted = 0, runs = 0, reached = 0;  // reached: within 5 % of the best
  // The trials until then; infinity: the runs ended before.
  double low = 0, median = 0, high = 0;
  double share_at_end = 0;  // of the best's speed, in the median
};
std::vector<ArmNumbers> numbers_of(const Panel& panel, const Settings& settings,
                                   const RawRows& rows);

struct Judged {
  std::string setting, arm, against;  // labels
  Expected expected = Expected::kFewer;
  std::vector<std::pair<std::string, Outcome>> outcomes;  // a space each
  Verdict verdict = Verdict::kUndecided;
};
// The claims of a setting whose searches were both run.
std::vector<Judged> judged(const PanelSet& set, const Settings& settings, const RawRows& rows);

}  // namespace lathe::paper
