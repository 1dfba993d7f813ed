#include "compiler/schedule/steps/rfactor.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/box.h"
#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/region.h"

namespace lathe::schedule {
namespace {

using ir::BlockId;
using ir::BufferId;
using ir::LoopId;
using ir::SizeId;

class Factorer {
 public:
  Factorer(ir::Nest& nest, const Rfactor& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    id_ = LATHE_TRY(block_named(nest_, step_.block));
    loop_ = LATHE_TRY(loop_named(nest_, step_.loop));
    if (is_tensorized(nest_, nest_.blocks[id_].parent))
      return refuse(Refusal::kAlreadyBound, step_.block);
    if (!nest_.is_reduction_loop(id_, loop_)) return refuse(Refusal::kNotAReduction, step_.block);
    if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    home_ = nest_.buffers[nest_.blocks[id_].writes].at;
    const std::size_t dims = nest_.blocks[id_].index.size();
    if (step_.dim < -1 || step_.dim > static_cast<int>(dims))
      return refuse(Refusal::kBadDimension, step_.block);
    if (step_.scope != ir::Scope::kMemory && step_.scope != ir::Scope::kGroup &&
        step_.scope != ir::Scope::kLanes)
      return refuse(Refusal::kBadScope, step_.name);
    dim_ = step_.dim < 0 ? static_cast<std::ptrdiff_t>(dims) : step_.dim;
    if (auto legal = check(); !legal) return legal;
    const Region region = LATHE_TRY(region_computed(nest_, id_, home_));
    const SizeId count = LATHE_TRY(count_partials());
    const BufferId partial = add_buffer(count);
    const int position = analysis::child_with(nest_, home_, id_) + 1;
    ir::Block final_block = nest_.blocks[id_];
    accumulate_into(partial, count);
    return add_final(std::move(final_block), region, partial, count, position);
  }

 private:
  StepResult<void> check() const {
    const BufferId result = nest_.blocks[id_].writes;
    if (analysis::is_partial_at(nest_, id_, home_))
      return refuse(Refusal::kBreaksDependence, step_.block);
    const int child = analysis::child_with(nest_, home_, id_);
    const ir::Item item = nest_.children(home_)[static_cast<std::size_t>(child)];
    if (item.kind != ir::Item::Kind::kLoop) return refuse(Refusal::kNotAReduction, step_.block);
    if (!analysis::readers_of(nest_, result, item.id).empty())
      return refuse(Refusal::kNotNested, step_.block);
    return {};
  }

  // Counts the values of the loop for which any iteration is inside the domain: each makes a
  // partial result.
  StepResult<SizeId> count_partials() {
    ir::Sizes& s = nest_.sizes;
    SizeId count = nest_.loops[loop_].extent;
    for (const ir::BlockIter& iter : nest_.blocks[id_].iters)
      for (const ir::LoopDigit& digit : iter.digits) {
        if (digit.loop != loop_) continue;
        if (digit.div != SizeId::kNone || digit.mod != SizeId::kNone ||
            iter.offset != SizeId::kNone)
          return refuse(Refusal::kBadFactor, step_.loop);
        const SizeId inside = s.ceildiv(iter.extent, digit.weight);
        if (s.at_least(inside, count)) continue;
        count = s.at_least(count, inside) ? inside : s.min(count, inside);
      }
    return count;
  }

  BufferId add_buffer(SizeId count) {
    const ir::Buffer& result = nest_.buffers[nest_.blocks[id_].writes];
    ir::Buffer partial;
    partial.name = step_.name;
    partial.dtype = nest_.blocks[id_].body->dtype;
    partial.shape = result.shape;
    partial.shape.insert(partial.shape.begin() + dim_, count);
    partial.at = home_;
    partial.scope = step_.scope;
    nest_.buffers.push_back(std::move(partial));
    return static_cast<BufferId>(nest_.buffers.size() - 1);
  }

  std::string partial_iter() const {
    std::string name = "r";
    const auto taken = [&] {
      return std::ranges::find(nest_.blocks[id_].iters, name, &ir::BlockIter::name) !=
             nest_.blocks[id_].iters.end();
    };
    while (taken()) name += "r";
    return name;
  }

  // True if no iteration of the loops leaves the iterator's domain.
  bool stays_inside(const ir::BlockIter& iter) const {
    return iter.kind != ir::IterKind::kReduce ||
           (iter.offset == SizeId::kNone && analysis::stays_below(nest_, iter.digits, iter.extent));
  }

  void accumulate_into(BufferId partial, SizeId count) {
    iter_name_ = partial_iter();
    ir::Block& block = nest_.blocks[id_];
    block.name = step_.name;
    block.writes = partial;
    block.index.insert(block.index.begin() + dim_,
                       ir::Affine::iter(static_cast<int>(block.iters.size())));
    ir::BlockIter iter;
    iter.name = iter_name_;
    iter.extent = count;
    iter.digits = {{loop_, nest_.sizes.constant(1)}};
    block.iters.push_back(std::move(iter));
    const auto around = nest_.loops_around(id_);
    if (std::ranges::any_of(around, [&](LoopId l) { return nest_.is_reduction_loop(id_, l); }))
      return;
    // Nothing is left to reduce: each partial result is one value, if it has a term at all.
    if (!std::ranges::all_of(block.iters, [&](const ir::BlockIter& i) { return stays_inside(i); }))
      return;
    block.reduce = ir::ReduceOp::kNone;
    for (ir::BlockIter& i : block.iters) i.kind = ir::IterKind::kSpatial;
  }

  StepResult<void> add_final(ir::Block block, const Region& region, BufferId partial, SizeId count,
                             int position) {
    LoopId parent = home_;
    const auto add = [&](const std::string& iter, SizeId extent) -> StepResult<ir::LoopDigit> {
      parent = LATHE_TRY(add_loop(nest_, step_.block + "." + iter + "@" + step_.name, extent,
                                  parent, parent == home_ ? position : -1));
      return ir::LoopDigit{parent, nest_.sizes.constant(1)};
    };
    const std::vector<ir::BlockIter> old = std::move(block.iters);
    std::vector<std::pair<LoopId, LoopId>> moved;  // old loops of the result, and the new ones
    std::vector<std::vector<ir::LoopDigit>> inner;
    std::vector<ir::Affine> index, read_index;
    block.iters.clear();
    for (std::size_t d = 0; d < block.index.size(); ++d) {
      const ir::BlockIter& iter = old[static_cast<std::size_t>(plain_iter(block.index[d]))];
      const std::int64_t low = block.index[d].offset;
      inner.push_back({LATHE_TRY(add(iter.name, region.box[d].extent))});
      if (iter.digits.size() == 1 && iter.offset == SizeId::kNone)
        moved.emplace_back(iter.digits[0].loop, parent);
      block.iters.push_back(
          region_iter(nest_, iter.name, region.box[d], low, iter.extent, inner.back()));
      index.push_back(ir::Affine::iter(static_cast<int>(d)) + ir::Affine::constant(low));
    }
    ir::BlockIter over;
    over.name = iter_name_;
    over.extent = count;
    over.kind = ir::IterKind::kReduce;
    over.digits = {LATHE_TRY(add(iter_name_, count))};
    block.iters.push_back(std::move(over));
    read_index = index;
    read_index.insert(read_index.begin() + dim_, ir::Affine::iter(static_cast<int>(index.size())));
    block.index = std::move(index);
    block.body = ir::read(partial, std::move(read_index), nest_.buffers[partial].dtype);
    add_guards(nest_, block, region, inner);
    moved.emplace_back(loop_, parent);
    for (const ir::BlockIter& iter : old) keep_to_terms(block, iter, moved);
    add_block(nest_, std::move(block), parent, parent == home_ ? position : -1);
    return {};
  }

  // An earlier rfactor may have cut the same reduction. Then the last of its blocks may have fewer
  // partial results than the others: those without any term are not read.
  void keep_to_terms(ir::Block& block, const ir::BlockIter& iter,
                     const std::vector<std::pair<LoopId, LoopId>>& moved) {
    if (iter.kind != ir::IterKind::kReduce || iter.guard) return;
    ir::BlockIter guard{"guard", iter.extent, ir::IterKind::kReduce, {}, iter.offset, true};
    for (ir::LoopDigit digit : iter.digits) {
      const auto found = std::ranges::find(moved, digit.loop, &std::pair<LoopId, LoopId>::first);
      const bool outside =
          home_ != ir::kRoot && nest_.is_inside({ir::Item::Kind::kLoop, home_}, digit.loop);
      if (found == moved.end() && !outside) continue;
      if (found != moved.end()) digit.loop = found->second;
      guard.digits.push_back(digit);
    }
    if (guard.digits.size() > 1 && !analysis::stays_below(nest_, guard.digits, guard.extent))
      block.iters.push_back(std::move(guard));
  }

  ir::Nest& nest_;
  const Rfactor& step_;
  BlockId id_ = -1;
  LoopId loop_ = ir::kRoot, home_ = ir::kRoot;
  std::ptrdiff_t dim_ = 0;  // of the partial results
  std::string iter_name_;   // over them
};

}  // namespace

std::string Rfactor::text() const {
  std::string out = fmt::format("rfactor {} over {} into {}", block, loop, name);
  if (dim >= 0) out += fmt::format(", dimension {}", dim);
  return scope == ir::Scope::kMemory ? out : out + fmt::format(" in {}", ir::name_of(scope));
}

StepResult<void> apply_step(ir::Nest& nest, const Rfactor& step) {
  return Factorer(nest, step).run();
}

}  // namespace lathe::schedule
