// How exactly a program must compute a workload, and what its schedule may choose.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe::te {

// What is promised of rounding, NaN and infinity. Each level allows what the ones before it allow.
enum class Numerics {
  // An element's error is bounded by what its own terms add up to, and NaN and infinity go where a
  // term carries them: every order of a sum as it is written.
  kComponentwise,
  // Roundings, NaN and infinity stay within the tile of neighbouring results that an element is
  // computed with.
  kLocal,
  // They may spread over whole rows, columns or matrices, as by algorithms that add up blocks of
  // them.
  kNormwise,
};
// What may be named there, as messages say it.
inline constexpr const char* kNumerics = "componentwise, local or normwise";
std::string_view name_of(Numerics level);
// What a level promises, as a part of a sentence.
std::string_view promise_of(Numerics level);
std::optional<Numerics> numerics_from_name(std::string_view name);

// All of it is part of the workload key.
struct Contract {
  double max_error = 2e-5;   // relative to the largest output, against f64
  bool free_layout = false;  // the trace may choose layouts of inputs and outputs
  // How the main sum is computed, by a word that algorithms.h knows; "": as the schedule chooses.
  std::string algorithm;
  // None: what the named algorithm needs, else kLocal.
  std::optional<Numerics> numerics;

  // What is promised in the end. A named algorithm that needs less than is allowed keeps to that.
  Numerics level() const;
  // The schedule may compute the main sum as it is written.
  bool may_be_direct() const { return algorithm.empty() || algorithm == "direct"; }
};

// The least number with two digits that is no less: what can be asked for as a max_error.
std::string max_error_from(double least);

// Refuses a max_error that is none, an unknown algorithm, and one that needs more than the level
// allows.
Status check(const Contract& contract);

}  // namespace lathe::te
