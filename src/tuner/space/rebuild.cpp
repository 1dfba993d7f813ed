#include "tuner/space/rebuild.h"

#include <algorithm>

#include "compiler/te/naive_nest.h"

namespace lathe::space {

Naming naming_of(const std::vector<Knob>& knobs) {
  std::vector<std::string> names;
  for (const Knob& knob : knobs) names.push_back(knob.name);
  return [names](ir::Sizes& sizes, const std::string& name) -> Result<ir::SizeId> {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return fail(ErrorKind::kInvalidArgument, "there is no knob {}", name);
    return sizes.knob(static_cast<int>(found - names.begin()), name);
  };
}

Result<Sketch> rebuild(const te::Workload& workload, const Json& trace, const Naming& naming) {
  Sketch sketch{te::naive_nest(workload), {}};
  ir::Sizes& sizes = sketch.nest.sizes;
  sketch.trace = LATHE_TRY(schedule::trace_from_json(
      trace, sizes, [&](const std::string& name) { return naming(sizes, name); }));
  const auto done = schedule::apply(sketch.nest, sketch.trace, workload.contract.free_layout);
  if (!done) return fail(ErrorKind::kIllegalSchedule, "{}", done.error().text());
  return sketch;
}

Result<Constraint> rebuild(ir::Sizes& sizes, const Json& constraint, const Naming& naming) {
  const Json size = LATHE_TRY(json_member(constraint, "size"));
  const ir::SizeId id = LATHE_TRY(ir::size_from_json(
      size, sizes, [&](const std::string& name) { return naming(sizes, name); }));
  return Constraint{LATHE_TRY(json_string(constraint, "why")), id,
                    LATHE_TRY(json_int(constraint, "most"))};
}

Json to_json(const ir::Sizes& sizes, const Constraint& constraint) {
  return {{"why", constraint.why},
          {"size", ir::to_json(sizes, constraint.size)},
          {"most", constraint.most}};
}

void each_choice(const std::vector<Knob>& knobs, const std::function<void(const Config&)>& visit) {
  Config config(knobs.size(), 0);
  for (;;) {
    visit(config);
    int k = static_cast<int>(knobs.size());
    while (k-- > 0) {
      if (!knobs[k].structural) continue;
      if (++config[k] < knobs[k].values.size()) break;
      config[k] = 0;
    }
    if (k < 0) return;
  }
}

}  // namespace lathe::space
