#include "tuner/space/rules/tile/tile_sketch.h"

#include "tuner/space/rules/rows/join_rows.h"
#include "tuner/space/rules/shared/plain_loops.h"
#include "tuner/space/rules/tile/tile_builder.h"

namespace lathe::space {
namespace {

// Reductions first: they may have maps in their loops.
void schedule_others(const Tiling& tiling, const CpuTarget& target, Draft& draft) {
  CpuTarget one = target;
  one.threads = 1;
  const te::Workload& view = tiling.prepared.view;
  for (const bool reduce : {true, false})
    for (const te::Stage& stage : view.stages)
      if ((stage.reduce != ir::ReduceOp::kNone) == reduce &&
          !draft.placed.contains(view.tensors[static_cast<std::size_t>(stage.tensor)].name))
        schedule_plainly(view, stage, tiling.grouped.contains(stage.tensor) ? one : target,
                         draft.nest, draft.trace, draft.placed);
}

// Layouts that the schedule chooses are those of the whole sum.
Result<Sketch> build_sketch(const Tiling& tiling, const TiledStage& whole,
                            std::span<const std::int64_t> values, int threads) {
  CpuTarget target = tiling.target;
  target.threads = threads;
  Draft draft{tiling.prepared.nest,
              tiling.prepared.steps,
              {},
              tiling.joined.empty() ? threads : tiling.target.threads};
  try {
    TileBuilder(whole, values, draft).free_layouts();
    TileBuilder(tiling.main, values, draft).tile();
    for (const TiledStage& other : tiling.companions) {
      const te::Workload& own = other.rule.workload;
      const int tensor = own.stages[static_cast<std::size_t>(other.rule.axes[0].stage)].tensor;
      if (!draft.placed.contains(own.tensors[static_cast<std::size_t>(tensor)].name))
        TileBuilder(other, values, draft).tile();
    }
    schedule_others(tiling, target, draft);
    for (const auto& loops : tiling.joined)
      join_rows(loops, tiling.target.threads, draft.nest, draft.trace);
  } catch (const StepRefused& refused) {
    return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
  }
  return Sketch{std::move(draft.nest), std::move(draft.trace)};
}

// The program with the main reduction in parts, which has the knobs of the whole.
Tiling with_parts(const Tiling& tiling) {
  Tiling out = *tiling.parts;
  TileRule rule = std::move(out.main.rule);
  out.main = tiling.main;
  out.main.rule = std::move(rule);
  out.companions = tiling.companions;
  out.target = tiling.target;
  return out;
}

}  // namespace

Result<Sketch> build_tile_sketch(const Tiling& tiling, std::span<const std::int64_t> values) {
  const TiledStage& main = tiling.main;
  int threads = tiling.target.threads;
  if (const int knob = main.rule.at.parallel; knob >= 0) {
    const auto chosen = static_cast<std::size_t>(main.choice(knob, values));
    if (main.rule.shared_loops[chosen] == SharedLoop::kNone) threads = 1;
    if (main.rule.shared_loops[chosen] == SharedLoop::kReduction)
      return build_sketch(with_parts(tiling), main, values, threads);
  }
  return build_sketch(tiling, main, values, threads);
}

Result<Sketch> build_plain_sketch(const Tiling& tiling) {
  Draft draft{tiling.prepared.nest, tiling.prepared.steps, {}, tiling.target.threads};
  schedule_others(tiling, tiling.target, draft);
  return Sketch{std::move(draft.nest), std::move(draft.trace)};
}

}  // namespace lathe::space
