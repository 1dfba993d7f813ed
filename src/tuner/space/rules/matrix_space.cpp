// Operands laid out as matrices, as a knob of the space.
#include <algorithm>
#include <memory>

#include "tuner/space/rules/matrices.h"
#include "tuner/space/rules/register_tile.h"

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

bool is_worth_it(const TileRule& as_it_lies, const std::vector<std::int64_t>& start,
                 const Tiling& matrices, const std::vector<std::int64_t>& other) {
  const double work = work_of(as_it_lies.workload.stages[as_it_lies.axes[0].stage]);
  if (work < kShortSum) return false;
  const double before = work / filled(as_it_lies, start);
  const double after = work / filled(matrices.main, other);
  return after + kCopyCost * copied(matrices.prepared.view) < before;
}

}  // namespace

bool add_matrices(const te::Workload& workload, const CpuTarget& target, Flavour flavour,
                  const TileRule& as_it_lies, Derived& derived) {
  auto prepared = prepare_as_matrices(workload, target);
  if (!prepared) return false;
  auto tiling = std::make_shared<Tiling>();
  tiling->prepared = std::move(*prepared);
  const te::Workload& view = tiling->prepared.view;
  const int stage = main_stage(view);
  tiling->main = tile_rule_for(view, stage, target, flavour);
  if (tiling->main.axes.empty()) return false;
  tiling->companions = companions_of(view, stage, target);
  add_parts(*tiling);
  const auto at = static_cast<int>(derived.knobs.size());
  tiling->main.first = at + 1;
  for (Knob& knob : derived.knobs) {
    knob.under = at;
    knob.under_values = {0};
  }
  derived.knobs.push_back({"operands", {0, 1}, {"as they lie", "as matrices"}, true});
  std::vector<std::int64_t> start = derived.start, other;
  for (const Knob& knob : derived.knobs) other.push_back(knob.values[0]);
  other.back() = 1;
  start.push_back(0);
  const std::vector<std::int64_t> tile = settled_start(tiling->main);
  const bool worth_it = is_worth_it(as_it_lies, derived.start, *tiling, tile);
  for (std::size_t k = 0; k < tile.size(); ++k) {
    Knob& knob = tiling->main.knobs[k];
    knob.name = "matrix." + knob.name;
    knob.under = at;
    knob.under_values = {1};
    start.push_back(knob.values[0]);
    other.push_back(tile[k]);
    derived.knobs.push_back(knob);
  }
  if (flavour == Flavour::kDefault) add_constraints(tiling->main, derived);
  derived.start = worth_it ? other : start;
  derived.other_starts.push_back(worth_it ? start : other);
  derived.build = [tiling, at, build = std::move(derived.build)](
                      std::span<const std::int64_t> values) -> Result<Sketch> {
    if (values[static_cast<std::size_t>(at)] == 0) return build(values);
    return build_tile_sketch(*tiling, values.subspan(static_cast<std::size_t>(at) + 1));
  };
  return true;
}

}  // namespace lathe::space
