// Templates: spaces that people write by hand (define by run). An expert's function gets a Recipe,
// asks it for knobs and choices as it goes, and applies schedule steps with them. Running the
// function defines the space.
//
//   auto space = template_space(program, [](space::Recipe& r) {
//     const auto tile = r.knob("tile", {4, 8, 16});
//     r.apply(schedule::Split{"C.j", tile, "jo", "ji"});
//     if (r.choice("order", {"rows", "columns"}) == "columns")
//       r.apply(schedule::Reorder{{"jo", "C.i"}});
//     r.at_most(r.times(tile, tile), 128);
//   });
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace lathe::space {

class Recipe {
 public:
  // A size that the search fills in. It stays open in the nest, so all its values share one sketch.
  schedule::Size knob(const std::string& name, std::vector<std::int64_t> values);
  // A structural choice: the function runs once for each value that is ever proposed.
  std::string choice(const std::string& name, std::vector<std::string> labels);
  schedule::Size times(const schedule::Size& a, const schedule::Size& b);
  schedule::Size plus(const schedule::Size& a, const schedule::Size& b);
  // The search never proposes configurations with a larger size.
  void at_most(const schedule::Size& size, std::int64_t most);
  // Applies the step to the naive nest of the program. If the step is refused, these choices are
  // invalid, and the rest of the function has no effect.
  void apply(const schedule::Step& step);

  struct State;
  explicit Recipe(State& state) : state_(state) {}

 private:
  ir::SizeId id_of(const schedule::Size& size);
  State& state_;
};

using Template = std::function<void(Recipe&)>;

// Runs the function once with every first value and then with the other labels of its choices, path
// by path, to learn all its knobs. Fails if it has no knobs at all, or some without values or with
// values below 1, declares a knob twice with other values, limits other sizes under other choices,
// or refuses the first configuration (the error names the step).
Result<std::unique_ptr<Space>> template_space(const te::Workload& workload, Template function);

}  // namespace lathe::space
