#include "tuner/space/rules/tile/tile_space.h"

#include "tuner/space/rules/tile/sum_parts.h"
#include "tuner/space/rules/tile/tile_knobs.h"
#include "tuner/space/rules/tile/tile_sketch.h"

namespace lathe::space {

Result<Derived> derive_tiles(CpuContext& context) {
  const te::Workload& workload = context.workload;
  if (workload.stages.empty())
    return fail(ErrorKind::kInvalidArgument, "the workload computes nothing");
  auto tiling = std::make_shared<Tiling>();
  tiling->prepared = prepare(workload, context.target);
  const te::Workload& view = tiling->prepared.view;
  const int stage = main_stage(view);
  TileRule rule = tile_rule_for(view, stage, context.target, context.flavour);
  if (rule.axes.empty())
    return fail(ErrorKind::kUnsupported,
                "{} has no axis but reductions: give it a dimension of size 1", workload.name);
  tiling->target = context.target;
  set_main(*tiling, std::move(rule));
  tiling->companions = companions_of(view, stage, context.target, view);
  Derived derived;
  name_knobs(*tiling, "");
  const Tiling* only[] = {tiling.get()};
  list_knobs_of(only, context.flavour, false, derived.knobs);
  find_knobs(*tiling, derived.knobs);
  if (context.flavour == Flavour::kDefault) constrain(*tiling, derived);
  std::vector<std::int64_t>& start = derived.starts.emplace_back();
  for (const Knob& knob : derived.knobs) start.push_back(knob.values[0]);
  set_start(*tiling, derived.knobs, start);
  derived.build = [tiling](std::span<const std::int64_t> values) {
    return build_tile_sketch(*tiling, values);
  };
  context.direct = std::move(tiling);
  return derived;
}

}  // namespace lathe::space
