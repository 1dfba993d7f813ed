// Rows together as a knob of the space.
#include <algorithm>
#include <memory>

#include "tuner/space/rules/axes.h"
#include "tuner/space/rules/register_tile.h"
#include "tuner/space/rules/row_group.h"

namespace lathe::space {
namespace {

// Less than this stays in the first cache, or nearly so, between one stage and the next.
constexpr double kWorthAKnob = 64 << 10;

std::int64_t blocks_along(const std::string& loop, const ir::Nest& nest) {
  const auto id = static_cast<std::size_t>(nest.find_loop(loop));
  return nest.sizes.constant_value(nest.loops[id].extent);
}

// The axis whose blocks the threads share where they share one: the outermost that has enough of
// them, or else the longest.
std::string shared_axis(const std::vector<std::string>& loops, int threads, const ir::Nest& nest) {
  std::string longest;
  std::int64_t most = 0;
  for (const std::string& loop : loops) {
    const std::int64_t blocks = blocks_along(loop, nest);
    if (blocks >= kBlocksPerThread * threads) return loop;
    if (blocks > most) {
      most = blocks;
      longest = loop;
    }
  }
  return longest;
}

// Makes axes parallel that run as one, outermost first, until they have enough blocks.
bool share_axes(const std::vector<std::string>& loops, int threads, ir::Nest& nest,
                schedule::Trace& trace) {
  std::int64_t blocks = 1;
  for (const std::string& loop : loops) {
    if (blocks >= kBlocksPerThread * threads) break;
    blocks *= blocks_along(loop, nest);
    if (!try_step(nest, trace, schedule::Annotate{.loop = loop, .kind = ir::LoopKind::kParallel},
                  false))
      return false;
  }
  return true;
}

Result<Sketch> build_grouped(const te::Workload& workload, const CpuTarget& target,
                             const RowGroup& group, std::int64_t rows) {
  Grouped grouped = LATHE_TRY(prepare_grouped(workload, target, group, rows));
  Tiling tiling;
  tiling.prepared = std::move(grouped.prepared);
  tiling.joined = std::move(grouped.loops);
  tiling.threads = target.threads;
  CpuTarget one = target;
  one.threads = 1;
  const te::Workload& view = tiling.prepared.view;
  const int stage = main_stage(view);
  tiling.main = tile_rule_for(view, stage, one, Flavour::kDefault);
  if (tiling.main.axes.empty())
    return fail(ErrorKind::kIllegalSchedule, "a block of rows has no axis but reductions");
  note_rows(tiling.main, grouped.same);
  tiling.fixed = settled_start(tiling.main);
  tiling.companions = companions_of(view, stage, one, grouped.same);
  return build_tile_sketch(tiling, {});
}

}  // namespace

void join_rows(const std::vector<std::vector<std::string>>& loops, int threads, ir::Nest& nest,
               schedule::Trace& trace) {
  std::vector<std::string> joined;
  for (const std::vector<std::string>& axis : loops) {
    schedule::Join join;
    for (const std::string& loop : axis)  // stages that run inside others have none left
      if (nest.find_loop(loop) >= 0) join.loops.push_back(loop);
    joined.push_back(join.loops.at(0));
    if (join.loops.size() < 2) continue;
    if (auto done = schedule::apply(nest, join); !done) throw StepRefused{done.error()};
    trace.push_back(std::move(join));
  }
  if (joined.empty() || threads < 2) return;
  const ir::Nest before = nest;
  const std::size_t steps = trace.size();
  if (share_axes(joined, threads, nest, trace)) return;
  nest = before;
  trace.resize(steps);
  share_axes({shared_axis(joined, threads, nest)}, threads, nest, trace);
}

void add_row_groups(const te::Workload& workload, const CpuTarget& target, const te::Workload& view,
                    Flavour flavour, Derived& derived) {
  if (workload.contract.free_layout) return;
  const auto group = find_row_group(view);
  if (!group) return;
  const double kept = kept_bytes(view, *group, workload.tensors.size());
  if (kept < kWorthAKnob && flavour == Flavour::kDefault) return;
  const auto rows = std::make_shared<const std::vector<std::int64_t>>(blocks_of_rows(*group));
  if (rows->empty()) return;
  const auto at = static_cast<int>(derived.knobs.size());
  for (Knob& knob : derived.knobs) {
    knob.under = at;
    knob.under_values = {0};
  }
  Knob knob{"rows", {0}, {"apart"}, true};
  for (const std::int64_t block : *rows) {
    knob.values.push_back(static_cast<std::int64_t>(knob.values.size()));
    knob.labels.push_back(std::to_string(block));
  }
  derived.knobs.push_back(std::move(knob));
  const auto found = std::ranges::find(*rows, rows_at_start(*group, kept, target));
  std::int64_t chosen = found == rows->end() ? 0 : found - rows->begin() + 1;
  // What a stage copies as a whole may stand between its rows and those of the stage before.
  if (chosen > 0 && !build_grouped(workload, target, *group, *found)) chosen = 0;
  std::vector<std::int64_t> other = derived.start;
  derived.start.push_back(chosen);
  other.push_back(chosen == 0 ? 1 : 0);
  derived.other_starts.push_back(std::move(other));
  derived.build = [workload, target, group = *group, rows, at, build = std::move(derived.build)](
                      std::span<const std::int64_t> values) -> Result<Sketch> {
    const std::int64_t choice = values[static_cast<std::size_t>(at)];
    if (choice == 0) return build(values);
    return build_grouped(workload, target, group, (*rows)[static_cast<std::size_t>(choice) - 1]);
  };
}

}  // namespace lathe::space
