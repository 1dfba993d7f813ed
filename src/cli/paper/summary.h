// The runs of a figure as what is drawn and written about them.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "api/paper/findings.h"
#include "api/paper/runs.h"
#include "cli/paper/picture.h"

namespace lathe::cli {

// Trials against GFLOP/s: median and quartiles over the seeds.
Picture picture_of(const paper::Plan& plan, const paper::Settings& settings,
                   const paper::RawRows& rows);

struct ArmNumbers {
  std::string space, label;
  int wanted = 0, runs = 0, reached = 0;  // reached: within 5 % of the best
  // trials until then; infinity: later than the runs lasted
  double low = 0, median = 0, high = 0;
  double share_at_end = 0;  // of the best's speed, in the median
};
std::vector<ArmNumbers> numbers_of(const paper::Panel& panel, const paper::Settings& settings,
                                   const paper::RawRows& rows);

struct Judged {
  std::string setting, arm, against;  // labels
  paper::Expected expected = paper::Expected::kFewer;
  std::vector<std::pair<std::string, paper::Outcome>> outcomes;  // a space each
  paper::Verdict verdict = paper::Verdict::kUndecided;
};
// The claims of a setting whose searches were both run.
std::vector<Judged> judged(const paper::Group& group, const paper::Settings& settings,
                           const paper::RawRows& rows);

}  // namespace lathe::cli
