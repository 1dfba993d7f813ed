// The algorithms by which a main sum may be computed, a row each: what contracts, flags, results
// and checks know of them. Their steps are in compiler/schedule/steps, their rules in
// tuner/space/rules.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/te/contract.h"

namespace lathe::te {

struct Algorithm {
  std::string_view word;  // in expressions and flags: "cook_toom" for any such algorithm
  // Words for one of them, as examples: "F4, F4x4"; empty: it has none.
  std::string_view variants;
  bool (*is_variant)(std::string_view word);
  Numerics level;         // what its numerics need
  std::string_view step;  // the name of the schedule step that computes a sum so; empty: none does
  std::string_view meaning;  // its label among the values of the knob `algorithm`, and what it does
};
std::span<const Algorithm> algorithms();

// The row that the word names; null: there is none.
const Algorithm* algorithm_named(std::string_view word);
// The row of a schedule step by its name; null: the step computes no sum in another way.
const Algorithm* algorithm_of_step(std::string_view step);
// What may be named, as messages say it: "direct, cook_toom, F4, F4x4 or strassen".
const std::string& algorithm_words();

}  // namespace lathe::te
