// The figures of the paper's section 6 that compare searches, as data: on which recorded spaces,
// with which searches, and what the paper found. The paper's figures 13 to 16 show 4 to 7 on every
// workload, and so do these.
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
  // What searches that transfer have learnt from; empty: nothing.
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
// Finds one figure by its name, or all by "all"; the error lists the names.
Result<std::vector<Figure>> figures_named(const std::string& name);

// The figure that is drawn from records of live runs.
inline constexpr const char* kLiveFigure = "fig10a";

}  // namespace lathe::paper
