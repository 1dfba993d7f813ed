// Operands laid out as matrices, as a knob of the space.
#include <algorithm>
#include <memory>

#include "tuner/space/rules/matrices.h"
#include "tuner/space/rules/register_tile.h"
#include "tuner/space/rules/tile_knobs.h"

namespace lathe::space {
namespace {

// The share of the vectors' lanes that a tile of the start fills.
double filled(const TileRule& rule, const std::vector<std::int64_t>& start) {
  const Axes& axes = rule.axes[0];
  const auto share = [](std::int64_t extent, std::int64_t tile) {
    const std::int64_t covered = (extent + tile - 1) / tile * tile;
    return static_cast<double>(extent) / static_cast<double>(covered);
  };
  const auto tile = [&](int knob) {
    return knob < 0 ? std::int64_t{1} : start[static_cast<std::size_t>(knob)];
  };
  const std::int64_t lanes = rule.lanes;
  return share(extent_of(rule, axes, axes.vector), lanes * tile(rule.at.tile_v)) *
         share(extent_of(rule, axes, pixel_axis(axes, 0)), tile(rule.at.tile_p0)) *
         share(extent_of(rule, axes, pixel_axis(axes, 1)), tile(rule.at.tile_p1));
}

// Elements that the copies bring into another order.
double copied(const te::Workload& view) {
  double elements = 0;
  for (const te::Stage& stage : view.stages)
    if (is_copy(stage) && !view.tensors[stage.tensor].constant) elements += 2 * work_of(stage);
  return elements;
}

// An element that is copied costs as much as so many multiply-adds of full vectors.
constexpr double kCopyCost = 8;
// Copies of a short sum have no vectors to speak of: of 720 multiply-adds they take 20 times as
// long as the sum.
constexpr double kShortSum = 1 << 15;

bool is_worth_it(const TiledStage& as_it_lies, const Tiling& matrices) {
  const te::Workload& view = as_it_lies.rule.workload;
  const double work = work_of(view.stages[static_cast<std::size_t>(as_it_lies.rule.axes[0].stage)]);
  if (work < kShortSum) return false;
  const double before = work / filled(as_it_lies.rule, as_it_lies.start);
  const double after = work / filled(matrices.main.rule, matrices.main.start);
  return after + kCopyCost * copied(matrices.prepared.view) < before;
}

}  // namespace

void add_matrices(const te::Workload& workload, const CpuTarget& target, Flavour flavour,
                  const TiledStage& as_it_lies, Derived& derived) {
  auto prepared = prepare_as_matrices(workload, target);
  if (!prepared) return;
  auto tiling = std::make_shared<Tiling>();
  tiling->prepared = std::move(*prepared);
  const te::Workload& view = tiling->prepared.view;
  const int stage = main_stage(view);
  TileRule rule = tile_rule_for(view, stage, target, flavour);
  if (rule.axes.empty()) return;
  tiling->target = target;
  set_main(*tiling, std::move(rule));
  tiling->companions = companions_of(view, stage, target, view);
  const std::size_t own = derived.knobs.size();
  const auto at = static_cast<int>(own);
  put_under({at, {0}}, own, derived.knobs);
  derived.knobs.push_back({"operands", {0, 1}, {"as they lie", "as matrices"}, true});
  name_knobs(*tiling, "matrix.");
  add_tile_knobs(*tiling, flavour, {at, {1}}, derived);
  fill_starts(derived);
  std::vector<std::int64_t> other;
  for (const Knob& knob : derived.knobs) other.push_back(knob.values[0]);
  other[own] = 1;
  set_start(*tiling, derived.knobs, other);
  if (is_worth_it(as_it_lies, *tiling)) std::swap(derived.start, other);
  derived.other_starts.insert(derived.other_starts.begin(), std::move(other));
  derived.build = [tiling, at, build = std::move(derived.build)](
                      std::span<const std::int64_t> values) -> Result<Sketch> {
    if (values[static_cast<std::size_t>(at)] == 0) return build(values);
    return build_tile_sketch(*tiling, values);
  };
}

}  // namespace lathe::space
