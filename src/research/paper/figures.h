// The figures of the paper's section 6 that compare searches, as data: on which recorded spaces,
// with which searches, and what the paper found. Figures 13 to 16 are 4 to 7 on every workload,
// which is how they are drawn here.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::paper {

struct Series {
  std::string arm, label;  // experiment::arm_named
};

// What the paper says of the trials that `arm` needs, next to `against`.
enum class Expected { kFewer, kNotMore, kSame };
struct Claim {
  std::string arm, against;
  Expected expected = Expected::kFewer;
};

struct Setting {
  std::string title;                 // "" where the figure has only one
  std::vector<std::string> targets;  // names of recordings; empty: all of them
  // what searches that transfer learnt from before; empty: nothing
  std::vector<std::string> sources;
  bool other_target = false;     // the sources are recordings of another target
  bool on_other_target = false;  // the targets are
  std::vector<Series> series;
  std::vector<Claim> claims;
};

struct Figure {
  std::string name;  // "fig4"
  std::string title;
  std::string finding;  // the paper's, in a sentence
  std::vector<Setting> settings;
};

std::vector<Figure> known_figures();
// One of them, or "all"; the error lists the names.
Result<std::vector<Figure>> figures_named(const std::string& name);

// The figure that is drawn from records of live runs.
inline constexpr const char* kLiveFigure = "fig10a";

}  // namespace lathe::paper
