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
  // computed with, as by Cook-Toom algorithms.
  kLocal,
  // They may spread over whole rows, columns or matrices, as by Strassen's algorithm.
  kNormwise,
};
// What may be named there, as messages say it.
inline constexpr const char* kNumerics = "componentwise, local or normwise";
std::string_view name_of(Numerics level);
// What a level promises, as a part of a sentence.
std::string_view promise_of(Numerics level);
std::optional<Numerics> numerics_from_name(std::string_view name);

// What may be named as an algorithm, as messages say it.
inline constexpr const char* kAlgorithms = "direct, cook_toom, F4, F4x4 or strassen";
bool is_algorithm(std::string_view name);
// The level that an algorithm needs.
Numerics numerics_of_algorithm(std::string_view name);

// All of it is part of the workload key.
struct Contract {
  double max_error = 2e-5;   // relative to the largest output, against f64
  bool free_layout = false;  // the trace may choose layouts of inputs and outputs
  // How the main sum is computed: "direct", "cook_toom" for any such algorithm, "F4" or
  // "F4x2" for one with these tiles, "strassen"; "": as the schedule chooses.
  std::string algorithm;
  // None: what the named algorithm needs, else kLocal.
  std::optional<Numerics> numerics;

  // What is promised in the end. A named algorithm that needs less than is allowed keeps to that.
  Numerics level() const;
};

// The least number with two digits that is no less: what can be asked for as a max_error.
std::string max_error_from(double least);

// Refuses a max_error that is none, an unknown algorithm, and one that needs more than the level
// allows.
Status check(const Contract& contract);

}  // namespace lathe::te
