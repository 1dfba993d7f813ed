#include "tuner/space/rules/tile/tile_space.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "compiler/analysis/recurrences.h"
#include "tuner/space/rules/tile/sum_parts.h"
#include "tuner/space/rules/tile/tile_knobs.h"
#include "tuner/space/rules/tile/tile_sketch.h"

namespace lathe::space {
namespace {

// Stages of a recurrence that lanes can run along in a step, and others; those with the most work
// in all steps together first, of which `first` is the best but for sums.
std::vector<int> stages_of_steps(const Tiling& tiling, int first) {
  const te::Workload& view = tiling.prepared.view;
  const auto work = [&](int s) {
    return work_of(tiling.sizes.stages[static_cast<std::size_t>(s)]);
  };
  std::vector<int> stages = {first};
  for (int s = 0; std::cmp_less(s, view.stages.size()); ++s) {
    const te::Stage& stage = view.stages[static_cast<std::size_t>(s)];
    const bool once = view.tensors[static_cast<std::size_t>(stage.tensor)].constant;
    if (s != first && !once && writes_plainly(view, stage) && stage.reduce != ir::ReduceOp::kNone)
      stages.push_back(s);
  }
  std::ranges::stable_sort(stages, std::greater{}, work);
  return stages;
}

// The rule of the stage that is tiled; without axes where there is none.
TileRule main_rule(const CpuContext& context, const Tiling& tiling, bool steps) {
  const te::Workload& view = tiling.prepared.view;
  std::vector<int> stages = {main_stage(view)};
  if (steps) stages = stages_of_steps(tiling, stages[0]);
  for (const int stage : stages) {
    TileRule rule =
        tile_rule_for(view, stage, context.target, context.flavour, tiling.prepared.in_steps);
    if (!rule.axes.empty()) return rule;
  }
  return {};
}

// Of recurrences whose stages have one element in each step: nothing is open.
Derived derive_plainly(std::shared_ptr<const Tiling> tiling) {
  Derived derived;
  derived.starts = {{}};
  derived.build = [tiling = std::move(tiling)](std::span<const std::int64_t>) -> Result<Sketch> {
    return build_plain_sketch(*tiling);
  };
  return derived;
}

}  // namespace

Result<Derived> derive_tiles(CpuContext& context) {
  const te::Workload& workload = context.workload;
  if (workload.stages.empty())
    return fail(ErrorKind::kInvalidArgument, "the workload computes nothing");
  auto tiling = std::make_shared<Tiling>();
  tiling->prepared = prepare(workload, context.target, context.repeated);
  const te::Workload& view = tiling->prepared.view;
  const bool steps = analysis::has_recurrence(tiling->prepared.nest);
  if (steps) tiling->sizes = view_of(tiling->prepared.nest, workload);
  tiling->target = context.target;
  TileRule rule = main_rule(context, *tiling, steps);
  if (rule.axes.empty() && steps) return derive_plainly(std::move(tiling));
  if (rule.axes.empty())
    return fail(ErrorKind::kUnsupported,
                "{} has no axis but reductions: give it a dimension of size 1", workload.name);
  const int stage = rule.axes[0].stage;
  set_main(*tiling, std::move(rule));
  tiling->companions = companions_of(view, stage, context.target, steps ? tiling->sizes : view, {},
                                     {}, tiling->prepared.in_steps);
  Derived derived;
  name_knobs(*tiling, "");
  const Tiling* only[] = {tiling.get()};
  list_knobs_of(only, context.flavour, false, derived.knobs);
  find_knobs(*tiling, derived.knobs);
  if (context.flavour == Flavour::kDefault) constrain(*tiling, derived);
  derived.starts = {first_values(derived.knobs)};
  set_start(*tiling, derived.knobs, derived.starts[0]);
  derived.build = [tiling](std::span<const std::int64_t> values) {
    return build_tile_sketch(*tiling, values);
  };
  context.direct = std::move(tiling);
  return derived;
}

namespace {

constexpr Meaning kTileMeanings[] = {
    {"vector", "the iterator along which a vector holds elements of the result"},
    {"order",
     "loops from outside in: those over cache blocks (V vector axis, P pixels, K reduction), then "
     "those over a block's tiles (v, p)"},
    {"tile.v", "width of the register tile along the vector axis, in vectors"},
    {"tile.p0", "height of the register tile along the innermost pixel axis, in elements"},
    {"tile.p1", "height of the register tile along the next pixel axis, in elements"},
    {"block.v", "size of a cache block along the vector axis, in register tiles"},
    {"block.p", "size of a cache block along the outermost pixel axis, in register tiles"},
    {"block.q", "size of a cache block along the innermost pixel axis, in register tiles"},
    {"block.k", "size of a cache block along the reduction, in elements"},
    {"unroll.k", "steps of the reduction that the innermost loop writes out"},
    {"reduce", "what is outer within a block's reduction: the channels, or the taps of the window"},
    {"pack.weights",
     "copy of the weights in the order in which the loops read them: none, a block at a time, the "
     "whole beforehand"},
    {"panels",
     "how wide panels of the copied weights are: tile, as the register tile, which reads one after "
     "the other; vector, so that it reads several side by side"},
    {"prefetch",
     "how far ahead the copied weights are fetched into the cache, in bytes; 0: not at all"},
    {"prefetch.panels",
     "how many panels of the copied weights ahead are fetched while all tiles read one, a share "
     "each; 0: not at all"},
    {"pack.input",
     "copy of the input in the order in which the loops read it: none, a block at a time, the "
     "whole beforehand"},
    {"parallel",
     "the block loops that the threads share, V or P, or batch, or several of these; reduction: "
     "they sum parts of it, then those up; none: one thread does everything"},
};

}  // namespace

std::span<const Meaning> tile_meanings() { return kTileMeanings; }

}  // namespace lathe::space
