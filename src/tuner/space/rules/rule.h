// Rules: how the schedules of a workload on one kind of device come about. The first of a list
// derives those of the sum as it is written; each of the others may offer alternatives to what the
// ones before it have made. compose.h puts them together to a space.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tuner/space/space.h"

namespace lathe::space {

// Demands size <= most, for a size that depends on knobs.
struct Constraint {
  std::string why;
  ir::SizeId size;
  std::int64_t most;
};

// A knob, and its values under which others have an effect. -1: they always have.
struct Under {
  int knob = -1;
  std::vector<std::uint16_t> values;

  bool holds(std::span<const std::int64_t> values_of_knobs) const;
};

// Makes the sketch for values of all knobs, looking at structural ones only. Fails if these choices
// do not go together.
using Build = std::function<Result<Sketch>(std::span<const std::int64_t>)>;

// What rules have made so far: all of a space but its workload.
struct Derived {
  std::vector<Knob> knobs;
  ir::Sizes sizes;  // of the constraints; knob k in it is knobs[k]
  std::vector<Constraint> constraints;
  // Values of all knobs: the analytic default, then others with which a search begins, of
  // algorithms and such that may be as good, the most promising first.
  std::vector<std::vector<std::int64_t>> starts;
  Build build;
};
// The size that a knob gives; 1 where there is none (-1).
ir::SizeId size_given(int knob, Derived& derived);
// Rules that add starts for what else there is stop at so many.
inline constexpr std::size_t kMostStarts = 8;

// A knob that chooses among alternatives, and the knobs that these bring.
struct Choice {
  Knob above;  // its first value leaves everything as it is without it
  // Numbers of knobs that have an effect under its first value only; none: of all that always had
  // one, where the knob above has.
  std::optional<std::vector<int>> hides;
  // Have an effect under its other values; those that are under one of them already, as they say.
  std::vector<Knob> own;
};

// Of knobs that were appended to those of before: the first is above, and hides all.
Choice choice_of(std::vector<Knob> knobs, std::size_t before);

// What a rule offers beside what was derived before.
class Alternatives {
 public:
  virtual ~Alternatives() = default;
  // Their numbers follow those of the knobs before, each choice's `above` and then its own.
  virtual std::vector<Choice> choices(const std::vector<Knob>& before) = 0;
  // Called once all its knobs are among the others: adds constraints, and its starts to those of
  // before, in which its knobs have their first values.
  virtual void add_limits_and_starts(Derived& derived) = 0;
  // For values of which a choice is not the first. `before` builds what it is an alternative to.
  virtual Result<Sketch> build(std::span<const std::int64_t> values, const Build& before) const = 0;
};

// Of each knob the first value: where a start begins, and what knobs without effect have.
std::vector<std::int64_t> first_values(const std::vector<Knob>& knobs);

// What a knob of a rule means, in a sentence. The knob `algorithm` is explained by the table of
// algorithms (compiler/te/algorithms.h).
struct Meaning {
  std::string_view knob, text;
};

// Where a rule's alternatives stand.
enum class Place {
  kMainSum,      // another way to compute the main sum: the first rule that has one is taken
  kDirect,       // of how the sum is computed as it is written
  kDirectAlone,  // the same, where there is no other way
  kWhole,        // of the whole program, whatever was chosen before
};

// `Context`: what rules for one kind of device are told.
template <class Context>
struct Rule {
  Place place;
  // Nothing where the workload has none. Fails where the contract demands what it cannot do.
  Result<std::unique_ptr<Alternatives>> (*offer)(const Context& context);
  std::span<const Meaning> (*meanings)();  // of the knobs of its own
};

// What the knob means by the first of these that has it; empty: none has it.
template <class Context>
std::string_view meaning_in(std::span<const Meaning> first, std::span<const Rule<Context>> rules,
                            std::string_view knob) {
  const auto in = [&](std::span<const Meaning> meanings) -> std::string_view {
    const auto found = std::ranges::find(meanings, knob, &Meaning::knob);
    return found == meanings.end() ? "" : found->text;
  };
  if (const auto own = in(first); !own.empty()) return own;
  for (const Rule<Context>& rule : rules)
    if (const auto own = in(rule.meanings()); !own.empty()) return own;
  return "";
}

int number_of(const std::vector<Knob>& knobs, const std::string& name);  // -1: there is none

}  // namespace lathe::space
