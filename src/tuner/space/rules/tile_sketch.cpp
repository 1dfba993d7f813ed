// The sketch of the register-tile rule: schedule steps, applied once, with knobs as sizes.
#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/analysis/dependence.h"
#include "tuner/space/rules/consumers.h"
#include "tuner/space/rules/fused_maps.h"
#include "tuner/space/rules/register_tile.h"
#include "tuner/space/rules/row_group.h"
#include "tuner/space/rules/stepper.h"

namespace lathe::space {
namespace {

using ir::SizeId;
using schedule::Annotate;
using schedule::LayoutItem;

// The program while the sketch is built.
struct Draft {
  ir::Nest nest;
  schedule::Trace trace;
  std::set<std::string> placed;  // blocks that have their schedule already
  int threads = 1;               // that may share what there is to do
};

class Builder : private Stepper {
 public:
  // With open sizes, the rule's knobs become the nest's; otherwise `values` are the sizes.
  Builder(const TileRule& rule, std::span<const std::int64_t> values, bool open_sizes, Draft& draft)
      : Stepper(draft.nest, draft.trace, rule.workload.contract.free_layout),
        rule_(rule),
        values_(values),
        open_sizes_(open_sizes),
        axes_(rule.axes[choice_number(rule.at.vector)]),
        stage_(rule.workload.stages[axes_.stage]),
        draft_(draft) {
    target_ = rule.workload.tensors[stage_.tensor].name;
  }

  void free_layouts() {
    for (schedule::Layout& layout : free_layouts_of(rule_, axes_)) step(std::move(layout));
  }

  void tile() {
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

 private:
  std::size_t choice_number(int knob) const {
    return knob < 0 ? 0 : static_cast<std::size_t>(values_[knob]);
  }
  // What the knob chooses among these; `none` where this program has no such knob.
  template <class Choice>
  Choice choice(int knob, const std::vector<Choice>& choices, Choice none) const {
    return knob < 0 ? none : choices[choice_number(knob)];
  }
  Packing weight_packing() const {
    return choice(rule_.at.pack_w, rule_.weight_packings, Packing::kNone);
  }
  Packing input_packing() const {
    return choice(rule_.at.pack_x, rule_.input_packings, Packing::kNone);
  }
  bool taps_outside() const {
    return choice(rule_.at.taps, rule_.reduce_orders, ReduceOrder::kChannelsOutside) ==
           ReduceOrder::kTapsOutside;
  }
  SizeId size(int knob) {
    if (knob < 0) return number(1);
    if (rule_.knobs[knob].values.size() == 1) return number(rule_.knobs[knob].values[0]);
    return open_sizes_ ? nest_.sizes.knob(rule_.first + knob, rule_.knobs[knob].name)
                       : number(values_[knob]);
  }
  const std::string& loop_of(int iter) const { return stage_.iters[iter].name; }
  std::string tensor(int id) const { return rule_.workload.tensors[id].name; }

  void split_in_blocks(int iter, SizeId tile, SizeId block) {
    const std::string l = loop_of(iter);
    split(l, times(block, tile), l + ".c", l + ".r");
    split(l + ".r", tile, l + ".t", l + ".i");
  }

  void split_axes() {
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
  void order_loops() {
    const LoopOrder& order = rule_.orders[choice_number(rule_.at.order)];
    std::vector<std::string> loops;
    for (const int b : axes_.batch) loops.push_back(loop_of(b));
    block_order_ = order.blocks;
    for (const TileAxis axis : order.blocks) loops.push_back(block_loop(axis));
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

  std::string block_loop(TileAxis axis) const {
    switch (axis) {
      case TileAxis::kVector: return loop_of(axes_.vector) + ".c";
      case TileAxis::kPixels: return loop_of(axes_.pixels.back()) + ".c";
      case TileAxis::kReduction: break;
    }
    return loop_of(axes_.reduce) + ".o";
  }
  // The inner of the block loops over this axis and over the reduction.
  std::string innermost_block(TileAxis axis) const {
    std::string loop;
    for (const TileAxis each : block_order_)
      if (each == axis || each == TileAxis::kReduction) loop = block_loop(each);
    return loop;
  }

  // Dimensions in order, but the vector dimension last and in blocks of a vector.
  std::vector<LayoutItem> tile_layout(std::size_t dims, int vector_dim) {
    std::vector<LayoutItem> items;
    for (int d = 0; d < static_cast<int>(dims); ++d)
      if (d != vector_dim) items.push_back({d, std::int64_t{1}});
    items.push_back({vector_dim, std::int64_t{rule_.lanes}});
    items.push_back({vector_dim, std::int64_t{1}});
    return items;
  }

  void cache_accumulators() {
    const auto& shape = rule_.workload.tensors[stage_.tensor].shape;
    const std::string name = target_ + ".acc";
    const auto layout = tile_layout(shape.size(), plain_dim(written_index(stage_), axes_.vector));
    step(schedule::Cache{target_, name, tile_loop_, ir::Scope::kRegister, layout});
    for (std::size_t i = 0; i < layout.size(); ++i)
      kind(fmt::format("{}.d{}", name, i),
           i + 1 == layout.size() ? ir::LoopKind::kVectorized : ir::LoopKind::kUnrolled);
  }

  void annotate_tile() {
    kind(loop_of(axes_.vector) + ".l", ir::LoopKind::kVectorized);
    kind(loop_of(axes_.vector) + ".v", ir::LoopKind::kUnrolled);
    for (const int p : axes_.pixels) kind(loop_of(p) + ".i", ir::LoopKind::kUnrolled);
    if (axes_.reduce >= 0) kind(loop_of(axes_.reduce) + ".u", ir::LoopKind::kUnrolled);
  }

  // Moves a block behind the tile; its loops there, none if it cannot go.
  std::vector<std::string> move_behind_tile(const std::string& name) {
    std::vector<std::string> loops;
    for (const ir::BlockIter& iter : nest_.blocks[nest_.find_block(name)].iters)
      loops.push_back(name + "." + iter.name + "@" + tile_loop_);
    if (!may_step(schedule::ReverseComputeAt{name, tile_loop_})) return {};
    draft_.placed.insert(name);
    return loops;
  }

  // Runs element-wise consumers on the register tile, if it has all their axes.
  void fuse_consumers() {
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
  void fuse_lane_sum() {
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

  int dim_of(const ir::Read* read, int iter) const {
    return iter < 0 ? -1 : plain_dim(read->index, iter);
  }

  // Puts weights in exactly the order in which the loops read them: panel by panel, each as wide as
  // the register tile.
  void pack_weights() {
    if (axes_.weights == nullptr || weight_packing() == Packing::kNone) return;
    const ir::Read* read = axes_.weights;
    const int v = dim_of(read, axes_.vector);
    if (v < 0 || !all_plain(read->index)) return;
    std::vector<LayoutItem> items;
    for (int d = 0; d < static_cast<int>(read->index.size()); ++d) {
      const int iter = read->index[d].terms[0].iter;
      if (iter != axes_.vector && iter != axes_.reduce && std::ranges::count(axes_.taps, iter) == 0)
        items.push_back({d, std::int64_t{1}});
    }
    items.push_back({v, times(size(rule_.at.tile_v), number(rule_.lanes))});
    const std::int64_t together = rule_.channel_block(axes_);
    const int k = dim_of(read, axes_.reduce);
    if (k >= 0 && together > 1 && !taps_outside()) items.push_back({k, together});
    for (const int t : axes_.taps)
      if (dim_of(read, t) >= 0) items.push_back({dim_of(read, t), std::int64_t{1}});
    if (k >= 0 && together > 1 && taps_outside()) items.push_back({k, together});
    if (k >= 0) items.push_back({k, std::int64_t{1}});
    items.push_back({v, std::int64_t{1}});
    const bool whole = weight_packing() == Packing::kWhole;
    const std::string name = copy_name(read->tensor, ".pack");
    if (pack(read->tensor, name, whole ? "" : innermost_block(TileAxis::kVector), items))
      packed_weights_ = name;
  }

  // Two stages may each pack the same tensor, so a name may be taken.
  std::string copy_name(int source, const std::string& suffix) const {
    const std::string name = tensor(source) + suffix;
    return nest_.find_buffer(name) < 0 ? name : name + "." + target_;
  }

  // The copy walks through its source as it lies in memory, with vectors along the last digit of
  // its own storage.
  bool pack(int source, const std::string& name, const std::string& loop,
            const std::vector<LayoutItem>& items) {
    // The copy is laid out for this stage: whoever else reads or computes the tensor does so where
    // it lies.
    if (!may_step(schedule::Cache{tensor(source), name, loop, ir::Scope::kMemory, items,
                                  loop.empty() ? target_ : ""}))
      return false;
    std::vector<int> digits(items.size());
    std::iota(digits.begin(), digits.end(), 0);
    if (nest_.buffers[source].layout.empty())
      std::stable_sort(digits.begin(), digits.end() - 1,
                       [&](int a, int b) { return items[a].dim < items[b].dim; });
    std::vector<std::string> loops;
    for (const int digit : digits) loops.push_back(fmt::format("{}.d{}", name, digit));
    if (!std::ranges::is_sorted(digits)) step(schedule::Reorder{loops});
    transpose_in_blocks(source, items, digits, loops);
    kind(loops.back(), ir::LoopKind::kVectorized);
    if (loop.empty() && draft_.threads > 1) kind(loops.front(), ir::LoopKind::kParallel);
    return true;
  }

  // Where lanes lie apart in the source, as many neighbours of each are copied with them: then code
  // generation transposes them in registers.
  void transpose_in_blocks(int source, const std::vector<LayoutItem>& items,
                           const std::vector<int>& digits, const std::vector<std::string>& loops) {
    const auto dims = static_cast<int>(nest_.buffers[source].shape.size());
    const int before = digits.size() < 2 ? -1 : digits[digits.size() - 2];
    if (!nest_.buffers[source].layout.empty() || before < 0 || items[before].dim != dims - 1 ||
        items.back().dim == dims - 1)
      return;
    const std::string& loop = loops[loops.size() - 2];
    split(loop, number(rule_.lanes), loop + ".o", loop + ".u");
    unroll({loop + ".u"});
  }

  void pack_input() {
    if (axes_.input == nullptr || input_packing() == Packing::kNone) return;
    const ir::Read* read = axes_.input;
    if (input_packing() == Packing::kPadded) {
      if (!read->pad) return;
      std::vector<LayoutItem> items;
      const auto& layout = nest_.buffers[read->tensor].layout;
      for (const ir::LayoutDigit& d : layout) items.push_back({d.dim, d.weight});
      for (int d = 0; layout.empty() && d < static_cast<int>(read->index.size()); ++d)
        items.push_back({d, std::int64_t{1}});
      pack(read->tensor, copy_name(read->tensor, ".pad"), "", items);
      return;
    }
    const int p = axes_.pixels.empty() ? -1 : dim_of(read, axes_.pixels[0]);
    const int k = dim_of(read, axes_.reduce);
    if (p < 0 || k < 0) return;
    std::vector<LayoutItem> items;
    for (int d = 0; d < static_cast<int>(read->index.size()); ++d)
      if (d != p && d != k) items.push_back({d, std::int64_t{1}});
    items.push_back({p, size(rule_.at.tile_p0)});
    items.push_back({k, std::int64_t{1}});
    items.push_back({p, std::int64_t{1}});
    const bool whole = input_packing() == Packing::kWhole;
    pack(read->tensor, copy_name(read->tensor, ".pack"),
         whole ? "" : innermost_block(TileAxis::kPixels), items);
  }

  void prefetch_weights() {
    if (rule_.at.prefetch < 0 || packed_weights_.empty()) return;
    Annotate a;
    a.loop = loop_of(axes_.reduce) + ".s";
    a.what = Annotate::What::kPrefetch;
    a.buffer = packed_weights_;
    a.bytes = size(rule_.at.prefetch);
    step(a);
  }

  void parallelise() {
    if (rule_.at.parallel < 0 || draft_.threads < 2) return;
    switch (rule_.shared_loops[choice_number(rule_.at.parallel)]) {
      case SharedLoop::kVectorBlocks:
        // Where lanes are part of a reduction there is one block, which nothing can share.
        may_step(Annotate{.loop = block_loop(TileAxis::kVector), .kind = ir::LoopKind::kParallel});
        return;
      case SharedLoop::kPixelBlocks:
        return kind(block_loop(TileAxis::kPixels), ir::LoopKind::kParallel);
      case SharedLoop::kNone: return;
      case SharedLoop::kBatch: break;
    }
    for (const int b : axes_.batch)
      if (stage_.iters[b].extent > 1) return kind(loop_of(b), ir::LoopKind::kParallel);
  }

  const TileRule& rule_;
  std::span<const std::int64_t> values_;
  bool open_sizes_;
  const Axes& axes_;
  const te::Stage& stage_;
  Draft& draft_;
  std::string target_, tile_loop_, packed_weights_;
  std::vector<TileAxis> block_order_;
};

}  // namespace

namespace {

bool has_one_thread(const TileRule& rule, std::span<const std::int64_t> values) {
  return rule.at.parallel >= 0 &&
         rule.shared_loops[static_cast<std::size_t>(values[rule.at.parallel])] == SharedLoop::kNone;
}

}  // namespace

Result<Sketch> build_tile_sketch(const Tiling& tiling, std::span<const std::int64_t> values) {
  const bool open = tiling.fixed.empty();
  CpuTarget target = tiling.main.target;
  if (open && has_one_thread(tiling.main, values)) target.threads = 1;
  Draft draft{
      tiling.prepared.nest, tiling.prepared.steps, {}, std::max(tiling.threads, target.threads)};
  const te::Workload& view = tiling.prepared.view;
  try {
    Builder main(tiling.main, open ? values : tiling.fixed, open, draft);
    main.free_layouts();
    main.tile();
    for (const Tiling::Companion& other : tiling.companions)
      if (!draft.placed.contains(view.tensors[view.stages[other.rule.axes[0].stage].tensor].name))
        Builder(other.rule, other.values, false, draft).tile();
    // Reductions first: they may have maps in their loops.
    for (const bool reduce : {true, false})
      for (const te::Stage& stage : view.stages) {
        if ((stage.reduce != ir::ReduceOp::kNone) != reduce ||
            draft.placed.contains(view.tensors[stage.tensor].name))
          continue;
        CpuTarget own = target;
        if (!tiling.joined.empty())
          own.threads = tiling.apart.contains(stage.tensor) ? tiling.threads : 1;
        schedule_plainly(view, stage, own, draft.nest, draft.trace, draft.placed);
      }
    join_rows(tiling.joined, tiling.threads, draft.nest, draft.trace);
  } catch (const StepRefused& refused) {
    return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
  }
  return Sketch{std::move(draft.nest), std::move(draft.trace)};
}

}  // namespace lathe::space
