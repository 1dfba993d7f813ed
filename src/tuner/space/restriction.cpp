#include "tuner/space/restriction.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "tuner/space/impl.h"
#include "tuner/space/rebuild.h"

namespace lathe::space {
namespace {

// The name of a knob's value in JSON: its label, or its number.
Json name_of(const Knob& knob, std::size_t value) {
  return knob.labels.empty() ? Json(knob.values[value]) : Json(knob.labels[value]);
}

Result<std::size_t> value_named(const Knob& knob, const Json& name) {
  std::vector<std::string> known;
  for (std::size_t v = 0; v < knob.values.size(); ++v) {
    if (name_of(knob, v) == name) return v;
    known.push_back(name_of(knob, v).dump());
  }
  return fail_at(knob.name, ErrorKind::kInvalidArgument, "{} is no value of this knob; it has {}",
                 name.dump(), fmt::join(known, ", "));
}

// The values of an old knob that are kept, in their old order.
Result<std::vector<std::size_t>> kept_values(const Knob& knob, const Json& kept) {
  const auto found = kept.find(knob.name);
  if (found == kept.end())
    return fail_at(knob.name, ErrorKind::kInvalidArgument,
                   "nothing says which values of this knob are kept; list them, or give one");
  std::vector<std::size_t> values;
  for (const Json& name : found->is_array() ? *found : Json::array({*found}))
    values.push_back(LATHE_TRY(value_named(knob, name)));
  std::ranges::sort(values);
  if (values.empty() || std::ranges::adjacent_find(values) != values.end())
    return fail_at(knob.name, ErrorKind::kInvalidArgument,
                   "a list of kept values has each once, and one at least");
  return values;
}

// What a new configuration is in the old space.
struct Mapping {
  std::vector<std::vector<std::size_t>> kept;  // for each old knob: the numbers of its values
  std::vector<int> free;                       // for each new knob: its number in the old space

  Config old_config(std::span<const std::size_t> chosen) const {
    Config config;
    for (const auto& values : kept) config.push_back(static_cast<std::uint16_t>(values.front()));
    for (std::size_t k = 0; k < free.size(); ++k)
      config[static_cast<std::size_t>(free[k])] =
          static_cast<std::uint16_t>(kept[static_cast<std::size_t>(free[k])][chosen[k]]);
    return config;
  }
};

Status refuse_strangers(const std::vector<Knob>& knobs, const Json& kept) {
  if (!kept.is_object())
    return fail(ErrorKind::kInvalidArgument, "the kept values are no object of knobs");
  for (const auto& [name, values] : kept.items())
    if (std::ranges::find(knobs, name, &Knob::name) == knobs.end())
      return fail_at(name, ErrorKind::kInvalidArgument, "this space has no such knob");
  return {};
}

// True of a knob that nothing that is kept gives an effect.
bool never_acts(const std::vector<Knob>& knobs, std::size_t knob, const Mapping& mapping) {
  const Knob& k = knobs[knob];
  if (k.under < 0) return false;
  const auto under = static_cast<std::size_t>(k.under);
  return never_acts(knobs, under, mapping) ||
         std::ranges::none_of(mapping.kept[under], [&](std::size_t v) {
           const auto value = static_cast<std::uint16_t>(v);
           return std::ranges::find(k.under_values, value) != k.under_values.end();
         });
}

// Such a knob, and one under which others are, keeps its first value.
bool may_be_left_out(const std::vector<Knob>& knobs, std::size_t knob, const Mapping& mapping) {
  const auto number = static_cast<int>(knob);
  return never_acts(knobs, knob, mapping) ||
         std::ranges::find(knobs, number, &Knob::under) != knobs.end();
}

Result<Mapping> mapping_of(const std::vector<Knob>& knobs, const Json& kept) {
  LATHE_TRY_STATUS(refuse_strangers(knobs, kept));
  Mapping mapping;
  mapping.kept.resize(knobs.size());
  for (const int number : parents_first(knobs)) {
    const auto k = static_cast<std::size_t>(number);
    const bool silent = !kept.contains(knobs[k].name) && may_be_left_out(knobs, k, mapping);
    mapping.kept[k] = silent ? std::vector<std::size_t>{0} : LATHE_TRY(kept_values(knobs[k], kept));
  }
  for (std::size_t k = 0; k < knobs.size(); ++k)
    if (mapping.kept[k].size() > 1) mapping.free.push_back(static_cast<int>(k));
  if (mapping.free.empty())
    return fail(ErrorKind::kInvalidArgument,
                "every knob is settled, so there is nothing to search");
  return mapping;
}

// Structural choices keep their place in the list as their value, as in every space.
Knob part_of(const Knob& knob, const std::vector<std::size_t>& kept) {
  Knob part{knob.name, {}, {}, knob.structural};
  for (const std::size_t value : kept) {
    part.values.push_back(knob.structural ? static_cast<std::int64_t>(part.values.size())
                                          : knob.values[value]);
    if (!knob.labels.empty()) part.labels.push_back(knob.labels[value]);
  }
  return part;
}

// Gives free knobs their new number; settled ones become constants.
Naming naming_of(const std::vector<Knob>& old, const Mapping& mapping,
                 const std::vector<Knob>& knobs) {
  std::map<std::string, std::int64_t> settled;
  for (std::size_t k = 0; k < old.size(); ++k)
    if (mapping.kept[k].size() == 1) settled[old[k].name] = old[k].values[mapping.kept[k].front()];
  return [settled, others = naming_of(knobs)](ir::Sizes& sizes,
                                              const std::string& name) -> Result<ir::SizeId> {
    const auto found = settled.find(name);
    return found == settled.end() ? others(sizes, name) : sizes.constant(found->second);
  };
}

// The kept value nearest to the one that a person would start from.
std::int64_t start_of(const Knob& knob, const std::vector<std::size_t>& kept, std::size_t start,
                      const Knob& part) {
  const auto distance = [&](std::size_t i) {
    const auto from = knob.structural ? static_cast<std::int64_t>(start) : knob.values[start];
    const auto to = knob.structural ? static_cast<std::int64_t>(kept[i]) : knob.values[kept[i]];
    return std::abs(to - from);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < kept.size(); ++i)
    if (distance(i) < distance(best)) best = i;
  return part.values[best];
}

}  // namespace

Result<std::unique_ptr<Space>> restrict_space(const std::shared_ptr<const Space>& space,
                                              const Json& kept) {
  const std::vector<Knob>& old = space->knob_list();
  const Mapping mapping = LATHE_TRY(mapping_of(old, kept));
  const std::vector<std::int64_t>& starts = space->impl().derived.starts[0];
  auto impl = std::make_unique<Space::Impl>();
  impl->workload = space->workload();
  Derived& derived = impl->derived;
  derived.starts.emplace_back();
  for (const int k : mapping.free) {
    derived.knobs.push_back(part_of(old[k], mapping.kept[k]));
    derived.starts[0].push_back(
        start_of(old[k], mapping.kept[k], old[k].nearest(starts[k]), derived.knobs.back()));
  }
  const Naming naming = naming_of(old, mapping, derived.knobs);
  const Derived& whole = space->impl().derived;
  for (const Constraint& constraint : whole.constraints)
    derived.constraints.push_back(
        LATHE_TRY(rebuild(derived.sizes, to_json(whole.sizes, constraint), naming)));
  derived.build = [space, mapping, naming,
                   knobs = derived.knobs](std::span<const std::int64_t> values) -> Result<Sketch> {
    std::vector<std::size_t> chosen;
    for (std::size_t k = 0; k < knobs.size(); ++k)
      chosen.push_back(knobs[k].structural ? static_cast<std::size_t>(values[k]) : 0);
    const Sketch sketch = LATHE_TRY(space->impl().sketch(mapping.old_config(chosen)));
    return rebuild(space->workload(), schedule::to_json(sketch.trace, sketch.nest.sizes), naming);
  };
  return finish_part(std::move(impl));
}

}  // namespace lathe::space
