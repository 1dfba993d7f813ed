// Rows together as a knob of the space.
#include <algorithm>
#include <memory>

#include "tuner/space/rules/axes.h"
#include "tuner/space/rules/register_tile.h"
#include "tuner/space/rules/row_group.h"
#include "tuner/space/rules/row_parts.h"

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

// The other reductions that are worth a tile: threads share those that are apart from the rows.
std::vector<Tiling::Companion> companions_in(const Grouped& grouped, const te::Workload& view,
                                             int main, const CpuTarget& one, const CpuTarget& all) {
  std::vector<Tiling::Companion> out;
  for (const bool apart : {false, true})
    for (auto& companion : companions_of(view, main, apart ? all : one, grouped.same)) {
      const int tensor = view.stages[companion.rule.axes[0].stage].tensor;
      if (grouped.apart.contains(tensor) == apart) out.push_back(std::move(companion));
    }
  return out;
}

Result<Sketch> build_grouped(Result<Grouped> prepared, const CpuTarget& target) {
  Grouped grouped = LATHE_TRY(std::move(prepared));
  Tiling tiling;
  tiling.prepared = std::move(grouped.prepared);
  tiling.joined = std::move(grouped.loops);
  tiling.threads = target.threads;
  tiling.apart = grouped.apart;
  CpuTarget one = target;
  one.threads = 1;
  const te::Workload& view = tiling.prepared.view;
  const int stage = main_stage(view);
  const bool apart = grouped.apart.contains(view.stages[stage].tensor);
  tiling.main = tile_rule_for(view, stage, apart ? target : one, Flavour::kDefault);
  if (tiling.main.axes.empty())
    return fail(ErrorKind::kIllegalSchedule, "a block of rows has no axis but reductions");
  note_rows(tiling.main, grouped.same);
  tiling.fixed = settled_start(tiling.main);
  tiling.companions = companions_in(grouped, view, stage, one, target);
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
    // Steps may have changed the order of stages.
    std::ranges::stable_sort(join.loops, {}, [&](const std::string& loop) {
      const ir::LoopId id = nest.find_loop(loop);
      const auto& siblings = nest.children(nest.loops[id].parent);
      return std::ranges::find(siblings, ir::Item{ir::Item::Kind::kLoop, id}) - siblings.begin();
    });
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

namespace {

// A way to take rows through several stages: so many rows together, or a row in parts of so many
// elements.
struct Together {
  bool parts;
  std::int64_t size;
};

Result<Sketch> build_together(const te::Workload& workload, const CpuTarget& target,
                              const std::optional<RowGroup>& group, const Together& choice) {
  if (choice.parts) return build_grouped(prepare_parts(workload, target, choice.size), target);
  return build_grouped(prepare_grouped(workload, target, *group, choice.size), target);
}

struct Choices {
  std::vector<Together> list;
  std::int64_t start = 0;  // 1 is the first of them, 0 none
};

Choices choices_of(const te::Workload& workload, const CpuTarget& target, const te::Workload& view,
                   Flavour flavour, const std::optional<RowGroup>& group) {
  Choices out;
  const double kept = group ? kept_bytes(view, *group, workload.tensors.size()) : 0;
  if (kept >= kWorthAKnob || flavour != Flavour::kDefault) {
    const std::vector<std::int64_t> blocks =
        group ? blocks_of_rows(*group) : std::vector<std::int64_t>{};
    for (const std::int64_t rows : blocks) out.list.push_back({false, rows});
    const std::int64_t start = group ? rows_at_start(*group, kept, target) : 0;
    const auto found = std::ranges::find(blocks, start);
    if (found != blocks.end()) out.start = found - blocks.begin() + 1;
  }
  const RowParts parts = find_row_parts(workload, target, flavour == Flavour::kDefault);
  for (const std::int64_t size : parts.sizes) {
    out.list.push_back({true, size});
    if (size == parts.start) out.start = std::ssize(out.list);
  }
  return out;
}

}  // namespace

void add_row_groups(const te::Workload& workload, const CpuTarget& target, const te::Workload& view,
                    Flavour flavour, Derived& derived) {
  if (workload.contract.free_layout) return;
  const auto group = find_row_group(view);
  const auto choices =
      std::make_shared<const Choices>(choices_of(workload, target, view, flavour, group));
  if (choices->list.empty()) return;
  const auto at = static_cast<int>(derived.knobs.size());
  for (Knob& knob : derived.knobs) {
    knob.under = at;
    knob.under_values = {0};
  }
  Knob knob{"rows", {0}, {"apart"}, true};
  for (const Together& choice : choices->list) {
    knob.values.push_back(static_cast<std::int64_t>(knob.values.size()));
    knob.labels.push_back(std::to_string(choice.size) + (choice.parts ? " of a row" : ""));
  }
  derived.knobs.push_back(std::move(knob));
  const auto choice_of = [choices](std::int64_t value) {
    return choices->list[static_cast<std::size_t>(value) - 1];
  };
  std::int64_t chosen = choices->start;
  // What a stage copies as a whole may stand between its rows and those of the stage before.
  if (chosen > 0 && !build_together(workload, target, group, choice_of(chosen))) chosen = 0;
  std::vector<std::int64_t> other = derived.start;
  derived.start.push_back(chosen);
  other.push_back(chosen == 0 ? 1 : 0);
  derived.other_starts.push_back(std::move(other));
  derived.build = [workload, target, group, choice_of, at, build = std::move(derived.build)](
                      std::span<const std::int64_t> values) -> Result<Sketch> {
    const std::int64_t choice = values[static_cast<std::size_t>(at)];
    if (choice == 0) return build(values);
    return build_together(workload, target, group, choice_of(choice));
  };
}

}  // namespace lathe::space
