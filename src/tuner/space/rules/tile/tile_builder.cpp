#include "tuner/space/rules/tile/tile_builder.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "tuner/space/rules/shared/consumers.h"
#include "tuner/space/rules/shared/fused_maps.h"
#include "tuner/space/rules/tile/free_layouts.h"

namespace lathe::space {

using ir::SizeId;
using schedule::LayoutItem;

TileBuilder::TileBuilder(const TiledStage& tiled, std::span<const std::int64_t> values,
                         Draft& draft)
    : Stepper(draft.nest, draft.trace, tiled.rule.workload.contract.free_layout),
      tiled_(tiled),
      rule_(tiled.rule),
      values_(values),
      axes_(rule_.axes[choice_number(rule_.at.vector)]),
      stage_(rule_.workload.stages[static_cast<std::size_t>(axes_.stage)]),
      draft_(draft) {
  target_ = tensor(stage_.tensor);
}

void TileBuilder::free_layouts() {
  for (schedule::Layout& layout : free_layouts_of(rule_, axes_)) step(std::move(layout));
}

void TileBuilder::tile() {
  split_axes();
  order_loops();
  if (axes_.reduce >= 0) cache_accumulators();
  annotate_tile();
  draft_.placed.insert(target_);
  if (axes_.reduce >= 0)
    fuse_maps(rule_.workload, stage_, loop_of(axes_.reduce) + ".s", rule_.target, nest_, trace_,
              draft_.placed);
  fuse_consumers();
  fuse_lane_sum();
  pack_weights();
  pack_input();
  prefetch_weights();
  parallelise();
}

SizeId TileBuilder::size(int knob) {
  if (knob < 0) return number(1);
  const Knob& own = rule_.knobs[static_cast<std::size_t>(knob)];
  if (own.values.size() == 1) return number(own.values[0]);
  const auto k = static_cast<std::size_t>(knob);
  if (tiled_.numbers[k] < 0) return number(tiled_.start[k]);
  const SizeId size = nest_.sizes.knob(tiled_.numbers[k], tiled_.prefix + own.name);
  return tiled_.shared[k] ? nest_.sizes.min(size, number(own.values.back())) : size;
}

void TileBuilder::split_in_blocks(int iter, SizeId tile, SizeId block) {
  const std::string l = loop_of(iter);
  split(l, times(block, tile), l + ".c", l + ".r");
  split(l + ".r", tile, l + ".t", l + ".i");
}

void TileBuilder::split_axes() {
  const std::string v = loop_of(axes_.vector);
  split_in_blocks(axes_.vector, times(size(rule_.at.tile_v), number(rule_.lanes)),
                  size(rule_.at.block_v));
  split(v + ".i", number(rule_.lanes), v + ".v", v + ".l");
  // The cache block belongs to the outermost pixel axis.
  const std::size_t blocked = axes_.pixels.size() - 1;
  for (std::size_t p = 0; p < axes_.pixels.size(); ++p) {
    const SizeId tile = size(p == 0 ? rule_.at.tile_p0 : rule_.at.tile_p1);
    const std::string l = loop_of(axes_.pixels[p]);
    if (p == blocked) split_in_blocks(axes_.pixels[p], tile, size(rule_.at.block_p));
    else if (rule_.at.block_q >= 0) split_in_blocks(axes_.pixels[p], tile, size(rule_.at.block_q));
    else split(l, tile, l + ".t", l + ".i");
  }
  if (axes_.reduce < 0) return;
  const std::string k = loop_of(axes_.reduce);
  split(k, size(rule_.at.block_k), k + ".o", k + ".r");
  const std::int64_t together = rule_.channel_block(axes_);
  if (together > 1) split(k + ".r", number(together), k + ".b", k + ".i");
  split(together > 1 ? k + ".i" : k + ".r", size(rule_.at.unroll_k), k + ".s", k + ".u");
}

// Orders the loops, from outside in.
void TileBuilder::order_loops() {
  const LoopOrder& order = rule_.orders[choice_number(rule_.at.order)];
  std::vector<std::string> loops;
  for (const int b : axes_.batch) loops.push_back(loop_of(b));
  block_order_ = order.blocks;
  for (const TileAxis axis : order.blocks)
    for (std::string& loop : block_loops(axis)) loops.push_back(std::move(loop));
  for (const TileAxis axis : order.tiles) {
    if (axis == TileAxis::kVector) loops.push_back(loop_of(axes_.vector) + ".t");
    if (axis == TileAxis::kPixels)
      for (std::size_t p = axes_.pixels.size(); p-- > 0;)
        loops.push_back(loop_of(axes_.pixels[p]) + ".t");
  }
  tile_loop_ = loops.back();
  if (axes_.reduce >= 0) {
    const std::string k = loop_of(axes_.reduce);
    const bool channels = rule_.channel_block(axes_) > 1;
    if (channels && !taps_outside()) loops.push_back(k + ".b");
    for (const int t : axes_.taps) loops.push_back(loop_of(t));
    if (channels && taps_outside()) loops.push_back(k + ".b");
    loops.push_back(k + ".s");
    loops.push_back(k + ".u");
  }
  for (std::size_t p = axes_.pixels.size(); p-- > 0;)
    loops.push_back(loop_of(axes_.pixels[p]) + ".i");
  loops.push_back(loop_of(axes_.vector) + ".v");
  loops.push_back(loop_of(axes_.vector) + ".l");
  step(schedule::Reorder{loops});
}

// Outer ones first.
std::vector<std::string> TileBuilder::block_loops(TileAxis axis) const {
  switch (axis) {
    case TileAxis::kVector: return {loop_of(axes_.vector) + ".c"};
    case TileAxis::kPixels:
      if (axes_.pixels.size() < 2 || rule_.at.block_q < 0)
        return {loop_of(axes_.pixels.back()) + ".c"};
      return {loop_of(axes_.pixels[1]) + ".c", loop_of(axes_.pixels[0]) + ".c"};
    case TileAxis::kReduction: break;
  }
  return {loop_of(axes_.reduce) + ".o"};
}
// The inner of the block loops over this axis and over the reduction.
std::string TileBuilder::innermost_block(TileAxis axis) const {
  const std::vector<TileAxis> shared = shared_axes(shared_loop());
  std::string loop;
  bool moves = false;
  for (const TileAxis each : block_order_) {
    if (each == axis || each == TileAxis::kReduction) moves = true;
    // Threads share both loops or none: what lies between them goes inside.
    else if (!moves || shared.size() < 2 || std::ranges::count(shared, each) == 0) continue;
    loop = block_loops(each).back();
  }
  return loop;
}

// Dimensions in order, but the vector dimension last and in blocks of a vector.
std::vector<LayoutItem> TileBuilder::tile_layout(std::size_t dims, int vector_dim) {
  std::vector<LayoutItem> items;
  for (int d = 0; d < static_cast<int>(dims); ++d)
    if (d != vector_dim) items.push_back({d, std::int64_t{1}});
  items.push_back({vector_dim, std::int64_t{rule_.lanes}});
  items.push_back({vector_dim, std::int64_t{1}});
  return items;
}

void TileBuilder::cache_accumulators() {
  const auto& shape = rule_.workload.tensors[stage_.tensor].shape;
  const std::string name = target_ + ".acc";
  const auto layout = tile_layout(shape.size(), plain_dim(written_index(stage_), axes_.vector));
  step(schedule::Cache{target_, name, tile_loop_, ir::Scope::kRegister, layout});
  for (std::size_t i = 0; i < layout.size(); ++i)
    kind(fmt::format("{}.d{}", name, i),
         i + 1 == layout.size() ? ir::LoopKind::kVectorized : ir::LoopKind::kUnrolled);
}

void TileBuilder::annotate_tile() {
  kind(loop_of(axes_.vector) + ".l", ir::LoopKind::kVectorized);
  kind(loop_of(axes_.vector) + ".v", ir::LoopKind::kUnrolled);
  for (const int p : axes_.pixels) kind(loop_of(p) + ".i", ir::LoopKind::kUnrolled);
  if (axes_.reduce >= 0) kind(loop_of(axes_.reduce) + ".u", ir::LoopKind::kUnrolled);
}

// Moves a block behind the tile; its loops there, none if it cannot go.
std::vector<std::string> TileBuilder::move_behind_tile(const std::string& name) {
  std::vector<std::string> loops;
  for (const ir::BlockIter& iter : nest_.blocks[nest_.find_block(name)].iters)
    loops.push_back(name + "." + iter.name + "@" + tile_loop_);
  if (!may_step(schedule::ReverseComputeAt{name, tile_loop_})) return {};
  draft_.placed.insert(name);
  return loops;
}

// Runs element-wise consumers on the register tile, if it has all their axes.
void TileBuilder::fuse_consumers() {
  if (axes_.reduce < 0) return;
  const int v = plain_dim(written_index(stage_), axes_.vector);
  for (const te::Stage& consumer : rule_.workload.stages) {
    const std::string name = tensor(consumer.tensor);
    if (consumer.reduce != ir::ReduceOp::kNone || draft_.placed.contains(name)) continue;
    const ir::Block& block = nest_.blocks[nest_.find_block(name)];
    if (!maps_element_by_element(nest_, block, stage_.tensor)) continue;
    const std::vector<std::string> iters = move_behind_tile(name);
    if (iters.empty()) continue;
    std::vector<std::string> loops;
    for (int d = 0; d < static_cast<int>(iters.size()); ++d)
      if (d != v) loops.push_back(iters[d]);
    split(iters[v], number(rule_.lanes), iters[v] + ".v", iters[v] + ".l");
    loops.push_back(iters[v] + ".v");
    loops.push_back(iters[v] + ".l");
    step(schedule::Reorder{loops});
    for (const auto& loop : loops)
      kind(loop, loop == loops.back() ? ir::LoopKind::kVectorized : ir::LoopKind::kUnrolled);
  }
}

// Sums up the lanes of the tile in registers, where lanes are part of the reduction.
void TileBuilder::fuse_lane_sum() {
  if (axes_.reduce < 0 || stage_.iters[axes_.vector].extent != rule_.lanes) return;
  const int v = plain_dim(written_index(stage_), axes_.vector);
  for (const te::Stage& consumer : rule_.workload.stages) {
    const std::string name = tensor(consumer.tensor);
    if (consumer.reduce == ir::ReduceOp::kNone || draft_.placed.contains(name)) continue;
    const ir::Block& block = nest_.blocks[nest_.find_block(name)];
    const int lane = reduced_alone(nest_, block, stage_.tensor, v);
    if (lane < 0) continue;
    const std::vector<std::string> loops = move_behind_tile(name);
    for (int i = 0; i < static_cast<int>(loops.size()); ++i)
      kind(loops[i], i == lane ? ir::LoopKind::kVectorized : ir::LoopKind::kUnrolled);
  }
}

void TileBuilder::parallelise() {
  if (draft_.threads < 2 || rule_.at.parallel < 0) return;
  std::vector<std::string> loops;
  for (const int b : shared_batch(rule_, axes_, shared_loop())) loops.push_back(loop_of(b));
  const std::vector<TileAxis> axes = shared_axes(shared_loop());
  for (const TileAxis axis : block_order_)
    if (std::ranges::count(axes, axis) > 0)
      for (std::string& loop : block_loops(axis)) loops.push_back(std::move(loop));
  // Where lanes are part of a reduction there is one block, which nothing can share; and what has
  // no knobs takes what it can get.
  const bool open = tiled_.numbers[static_cast<std::size_t>(rule_.at.parallel)] >= 0;
  const bool may = !open || (loops.size() == 1 && !axes.empty());
  for (const std::string& loop : loops) {
    const schedule::Annotate shared{.loop = loop, .kind = ir::LoopKind::kParallel};
    if (may) may_step(shared);
    else step(shared);
  }
}

}  // namespace lathe::space
