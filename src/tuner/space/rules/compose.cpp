#include "tuner/space/rules/compose.h"

#include <algorithm>

namespace lathe::space {

bool Under::holds(std::span<const std::int64_t> values_of_knobs) const {
  return knob < 0 ||
         std::ranges::find(values, values_of_knobs[static_cast<std::size_t>(knob)]) != values.end();
}

int number_of(const std::vector<Knob>& knobs, const std::string& name) {
  const auto found = std::ranges::find(knobs, name, &Knob::name);
  return found == knobs.end() ? -1 : static_cast<int>(found - knobs.begin());
}

ir::SizeId size_given(int knob, Derived& derived) {
  if (knob < 0) return derived.sizes.constant(1);
  return derived.sizes.knob(knob, derived.knobs[static_cast<std::size_t>(knob)].name);
}

std::vector<std::int64_t> first_values(const std::vector<Knob>& knobs) {
  std::vector<std::int64_t> values;
  for (const Knob& knob : knobs) values.push_back(knob.values[0]);
  return values;
}

Choice choice_of(std::vector<Knob> knobs, std::size_t before) {
  const auto own = knobs.begin() + static_cast<std::ptrdiff_t>(before);
  return {*own, std::nullopt, {own + 1, knobs.end()}};
}

Composer::Composer(Derived direct, const te::Contract& contract)
    : derived_(std::move(direct)),
      may_be_direct_(contract.may_be_direct()),
      demanded_(contract.algorithm) {}

Result<Derived> Composer::finish() && {
  if (may_be_direct_ || direct_.knob >= 0) return std::move(derived_);
  return fail_at("algorithm", ErrorKind::kInvalidArgument,
                 "this workload has no {} on this kind of device; name direct", demanded_);
}

bool Composer::takes(Place place) const {
  switch (place) {
    case Place::kMainSum: return direct_.knob < 0;
    case Place::kDirect: return may_be_direct_;
    case Place::kDirectAlone: return may_be_direct_ && direct_.knob < 0;
    case Place::kWhole: break;
  }
  return true;
}

namespace {

// Knobs that have an effect wherever this does.
std::vector<int> always_in_effect(const std::vector<Knob>& knobs, const Under& under) {
  std::vector<int> out;
  for (std::size_t k = 0; k < knobs.size(); ++k)
    if (knobs[k].under == under.knob && (under.knob < 0 || knobs[k].under_values == under.values))
      out.push_back(static_cast<int>(k));
  return out;
}

}  // namespace

// Adds the knob above, with what is under it. Returns its number.
int Composer::add_choice(Choice choice, const Under& under) {
  const auto at = static_cast<int>(derived_.knobs.size());
  for (const int hidden : choice.hides ? *choice.hides : always_in_effect(derived_.knobs, under)) {
    derived_.knobs[static_cast<std::size_t>(hidden)].under = at;
    derived_.knobs[static_cast<std::size_t>(hidden)].under_values = {0};
  }
  std::vector<std::uint16_t> others;
  for (std::size_t v = 1; v < choice.above.values.size(); ++v)
    others.push_back(static_cast<std::uint16_t>(v));
  choice.above.structural = true;
  choice.above.under = under.knob;
  choice.above.under_values = under.values;
  derived_.knobs.push_back(std::move(choice.above));
  for (Knob& knob : choice.own) {
    if (knob.under < 0) {
      knob.under = at;
      knob.under_values = others;
    }
    derived_.knobs.push_back(std::move(knob));
  }
  return at;
}

Build Composer::dispatch(std::shared_ptr<const Alternatives> alternatives, std::vector<int> choices,
                         const Under& under, bool may_be_first) const {
  return [alternatives = std::move(alternatives), choices = std::move(choices), under, may_be_first,
          before = derived_.build](std::span<const std::int64_t> values) -> Result<Sketch> {
    const bool other = under.holds(values) && std::ranges::any_of(choices, [&](int choice) {
                         return values[static_cast<std::size_t>(choice)] != 0;
                       });
    if (other) return alternatives->build(values, before);
    if (may_be_first) return before(values);
    return fail(ErrorKind::kInvalidArgument,
                "the workload demands an algorithm that is not direct");
  };
}

void Composer::add(Place place, std::shared_ptr<Alternatives> alternatives) {
  const Under under = place == Place::kDirect ? direct_ : Under{};
  std::vector<int> numbers;
  for (Choice& choice : alternatives->choices(derived_.knobs))
    numbers.push_back(add_choice(std::move(choice), under));
  for (std::vector<std::int64_t>& start : derived_.starts)
    for (std::size_t k = start.size(); k < derived_.knobs.size(); ++k)
      start.push_back(derived_.knobs[k].values[0]);
  alternatives->add_limits_and_starts(derived_);
  const bool of_sum = place == Place::kMainSum;
  if (of_sum) direct_ = {numbers.at(0), {0}};
  derived_.build =
      dispatch(std::move(alternatives), std::move(numbers), under, !of_sum || may_be_direct_);
}

}  // namespace lathe::space
