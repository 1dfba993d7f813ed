#include "tuner/space/frozen.h"

#include <map>

#include "tuner/space/rebuild.h"

namespace lathe::space {
namespace {

Json to_json(const Knob& knob) {
  Json json = {{"name", knob.name}, {"values", knob.values}};
  if (!knob.labels.empty()) json["labels"] = knob.labels;
  json["structural"] = knob.structural;
  return json;
}

Result<std::vector<std::int64_t>> numbers(const Json& object, const char* member) {
  std::vector<std::int64_t> out;
  for (const Json& value : LATHE_TRY(json_array(object, member))) {
    if (!value.is_number_integer())
      return fail(ErrorKind::kInvalidArgument, "\"{}\" must be whole numbers", member);
    out.push_back(value.get<std::int64_t>());
  }
  return out;
}

constexpr std::size_t kMostValues = 65'535;  // a configuration has 16 bits for each knob

Result<Knob> knob_from(const Json& json) {
  Knob knob{LATHE_TRY(json_string(json, "name")),
            LATHE_TRY(numbers(json, "values")),
            {},
            LATHE_TRY(json_bool(json, "structural"))};
  if (json.contains("labels"))
    for (const Json& label : LATHE_TRY(json_array(json, "labels"))) {
      if (!label.is_string()) return fail(ErrorKind::kInvalidArgument, "\"labels\" must be texts");
      knob.labels.push_back(label.get<std::string>());
    }
  const bool sized = !knob.values.empty() && knob.values.size() <= kMostValues &&
                     (knob.labels.empty() || knob.labels.size() == knob.values.size());
  if (!sized)
    return fail(ErrorKind::kInvalidArgument, "knob {} has no values, or not a label for each",
                knob.name);
  return knob;
}

using Sketches = std::map<std::vector<std::int64_t>, Sketch>;

// Values of the structural knobs, in the order of knobs.
std::vector<std::int64_t> choice_of(const std::vector<Knob>& knobs,
                                    std::span<const std::int64_t> values) {
  std::vector<std::int64_t> choice;
  for (std::size_t k = 0; k < knobs.size(); ++k)
    if (knobs[k].structural) choice.push_back(values[k]);
  return choice;
}

Result<Sketches> sketches_from(const te::Workload& workload, const Json& json,
                               const Naming& naming) {
  Sketches sketches;
  for (const Json& item : LATHE_TRY(json_array(json, "sketches"))) {
    auto sketch = rebuild(workload, LATHE_TRY(json_member(item, "trace")), naming);
    if (!sketch)
      return fail(sketch.error().kind, "its programs cannot be built by this Lathe any more ({})",
                  sketch.error().text());
    sketches.emplace(LATHE_TRY(numbers(item, "choice")), std::move(*sketch));
  }
  return sketches;
}

}  // namespace

Json freeze(const Space& space) {
  const Derived& derived = space.impl().derived;
  Json out = {{"knobs", Json::array()},
              {"start", derived.starts[0]},
              {"constraints", Json::array()},
              {"sketches", Json::array()}};
  for (const Knob& knob : derived.knobs) out["knobs"].push_back(to_json(knob));
  for (const Constraint& constraint : derived.constraints)
    out["constraints"].push_back(to_json(derived.sizes, constraint));
  each_choice(derived.knobs, [&](const Config& config) {
    const auto& sketch = space.impl().sketch(config);
    if (!sketch) return;  // these choices do not go together
    std::vector<std::int64_t> values;
    space.knob_values(config, values);
    out["sketches"].push_back({{"choice", choice_of(derived.knobs, values)},
                               {"trace", schedule::to_json(sketch->trace, sketch->nest.sizes)}});
  });
  return out;
}

Result<std::unique_ptr<Space>> thaw(const te::Workload& workload, const Json& frozen) {
  auto impl = std::make_unique<Space::Impl>();
  impl->workload = workload;
  Derived& derived = impl->derived;
  for (const Json& knob : LATHE_TRY(json_array(frozen, "knobs")))
    derived.knobs.push_back(LATHE_TRY(knob_from(knob)));
  derived.starts = {LATHE_TRY(numbers(frozen, "start"))};
  if (derived.starts[0].size() != derived.knobs.size())
    return fail(ErrorKind::kInvalidArgument, "the space has not a start for each of its knobs");
  const Naming naming = naming_of(derived.knobs);
  for (const Json& constraint : LATHE_TRY(json_array(frozen, "constraints")))
    derived.constraints.push_back(LATHE_TRY(rebuild(derived.sizes, constraint, naming)));
  auto sketches =
      std::make_shared<const Sketches>(LATHE_TRY(sketches_from(workload, frozen, naming)));
  derived.build = [sketches,
                   knobs = derived.knobs](std::span<const std::int64_t> values) -> Result<Sketch> {
    const auto found = sketches->find(choice_of(knobs, values));
    if (found == sketches->end())
      return fail(ErrorKind::kIllegalSchedule, "these choices do not go together");
    return found->second;
  };
  return finish_part(std::move(impl));
}

}  // namespace lathe::space
