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

// The axis whose blocks the threads share: the outermost that has enough of them, or else the
// longest.
std::size_t shared_axis(const std::vector<std::string>& loops, int threads, const ir::Nest& nest) {
  std::size_t longest = 0;
  std::int64_t most = 0;
  for (std::size_t a = 0; a < loops.size(); ++a) {
    const ir::LoopId loop = nest.find_loop(loops[a]);
    const std::int64_t blocks =
        nest.sizes.constant_value(nest.loops[static_cast<std::size_t>(loop)].extent);
    if (blocks >= kBlocksPerThread * threads) return a;
    if (blocks > most) {
      most = blocks;
      longest = a;
    }
  }
  return longest;
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
  const schedule::Annotate parallel{.loop = joined[shared_axis(joined, threads, nest)],
                                    .kind = ir::LoopKind::kParallel};
  if (auto done = schedule::apply(nest, parallel); !done) throw StepRefused{done.error()};
  trace.push_back(parallel);
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
