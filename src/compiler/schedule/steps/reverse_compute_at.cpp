#include "compiler/schedule/steps/reverse_compute_at.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/box.h"
#include "compiler/analysis/dependence.h"
#include "compiler/analysis/scans.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/region.h"

namespace lathe::schedule {
namespace {

using ir::BlockId;
using ir::BufferId;
using ir::LoopId;
using ir::SizeId;

class Mover {
 public:
  Mover(ir::Nest& nest, const ReverseComputeAt& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    consumer_ = LATHE_TRY(block_named(nest_, step_.block));
    loop_ = LATHE_TRY(loop_named(nest_, step_.loop));
    if (is_tensorized(nest_, loop_)) return refuse(Refusal::kAlreadyBound, step_.loop);
    if (auto legal = check(); !legal) return legal;
    spans_.resize(nest_.blocks[consumer_].iters.size());
    bool found = false;
    for (const BufferId buffer : buffers_read()) {
      const BlockId producer = producer_inside(buffer);
      if (producer < 0) {
        if (auto ready = check_ready(buffer); !ready) return ready;
        continue;
      }
      if (auto known = cover(buffer, producer); !known) return known;
      found = true;
    }
    if (!found) return refuse(Refusal::kNotUsedThere, step_.loop);
    if (moves_together()) return refuse(Refusal::kBreaksDependence, step_.block);
    detach_block(nest_, consumer_, loop_);
    use_caches();
    if (auto placed = place(); !placed) return placed;
    if (needs_what_moves_it()) return refuse(Refusal::kBreaksDependence, step_.block);
    for (const auto& [buffer, producer] : produced_) settle(buffer, producer);
    for (const LoopId loop : nest_.loops_around(consumer_))
      if (ir::is_concurrent(nest_.loops[loop].kind) &&
          analysis::writes_twice(nest_, consumer_, loop))
        return refuse(Refusal::kBreaksDependence, step_.block);
    return {};
  }

 private:
  StepResult<void> check() {
    const ir::Block& block = nest_.blocks[consumer_];
    if (nest_.is_inside({ir::Item::Kind::kBlock, consumer_}, loop_))
      return refuse(Refusal::kThereAlready, step_.loop);
    if (nest_.is_write_back(consumer_) || !analysis::can_be_placed_anew(nest_, consumer_))
      return refuse(Refusal::kNotElementwise, step_.block);
    const auto own = analysis::own_loops(nest_, consumer_, loop_);
    const LoopId above = own.empty() ? block.parent : nest_.loops[own.front()].parent;
    if (!nest_.is_inside({ir::Item::Kind::kLoop, loop_}, above))
      return refuse(Refusal::kNotNested, step_.block);
    return {};
  }

  std::vector<BufferId> buffers_read() const {
    return ir::tensors_of(nest_.blocks[consumer_].body);
  }

  // The block in the loop that computes the buffer, even if a write-back fills the buffer itself.
  BlockId producer_inside(BufferId buffer) const {
    const BlockId id = nest_.writer_of(buffer);
    return id >= 0 && nest_.is_inside({ir::Item::Kind::kBlock, id}, loop_) ? id : -1;
  }

  // A buffer computed elsewhere must be complete before the loop starts.
  StepResult<void> check_ready(BufferId buffer) const {
    if (analysis::is_in_the_making(nest_, buffer, loop_))
      return refuse(Refusal::kBreaksDependence, step_.block);
    const std::vector<BlockId> order = nest_.blocks_in_order();
    const auto place_of = [&](BlockId id) { return std::ranges::find(order, id) - order.begin(); };
    for (const BlockId writer : analysis::writers_of(nest_, buffer))
      if (place_of(writer) > place_of(nest_.blocks_in(loop_).front()))
        return refuse(Refusal::kBreaksDependence, step_.block);
    return {};
  }

  // The block behind which the consumer finds its values: the write-back, unless it can read the
  // cache itself.
  BlockId there_after(BufferId buffer, BlockId producer) const {
    const BufferId written = nest_.blocks[producer].writes;
    if (written == buffer ||
        nest_.is_inside({ir::Item::Kind::kLoop, loop_}, nest_.buffers[written].at))
      return producer;
    return analysis::writers_of(nest_, buffer).front();
  }

  // True if one loop around moves two iterators of the consumer: then it would compute a diagonal.
  bool moves_together() const {
    for (std::size_t a = 0; a < spans_.size(); ++a)
      for (std::size_t b = a + 1; b < spans_.size(); ++b)
        if (spans_[a] && spans_[b])
          for (const ir::LoopDigit& x : spans_[a]->start)
            for (const ir::LoopDigit& y : spans_[b]->start)
              if (x.loop == y.loop && x.div == y.div && x.mod == y.mod &&
                  !is_one(nest_.sizes, nest_.loops[x.loop].extent))
                return true;
    return false;
  }

  // True if the consumer needs a sum over a loop that moves it: in the last iteration alone the sum
  // is there, and the elements of the others would be left out.
  bool needs_what_moves_it() const {
    return std::ranges::any_of(nest_.loops_around(consumer_), [&](LoopId loop) {
      return !is_one(nest_.sizes, nest_.loops[loop].extent) &&
             analysis::is_driven_by(nest_.blocks[consumer_], loop) &&
             analysis::needs_sum_over(nest_, consumer_, loop);
    });
  }

  // True if every iteration of the loop has all that the consumer sums up.
  bool is_whole(const analysis::Span& span, SizeId extent) const {
    const bool at_start =
        span.offset == SizeId::kNone ||
        (nest_.sizes.is_constant(span.offset) && nest_.sizes.constant_value(span.offset) == 0);
    return at_start && nest_.sizes.at_least(span.extent, extent) &&
           std::ranges::all_of(span.start, [&](const ir::LoopDigit& digit) {
             return is_one(nest_.sizes, nest_.loops[digit.loop].extent);
           });
  }

  // True if the guard lets all pass that an iterator over this span of a domain does.
  bool keeps_all(const RegionGuard& guard, const analysis::Span& span, SizeId extent) const {
    return guard.offset == SizeId::kNone && same_digits(guard.outer, span.start) &&
           nest_.sizes.at_least(guard.extent, extent);
  }

  // Gives the consumer's iterators over this buffer's dimensions what one iteration of the loop has
  // computed of it.
  StepResult<void> cover(BufferId buffer, BlockId producer) {
    const ir::BufferId written = nest_.blocks[producer].writes;
    if (ir::looks_up(nest_.blocks[consumer_].body, buffer))
      return refuse(Refusal::kNotElementwise, step_.block);
    if (written != buffer && nest_.buffers[written].cache_of != buffer)
      return refuse(Refusal::kBreaksDependence, step_.block);
    const Region region = LATHE_TRY(region_computed(nest_, there_after(buffer, producer), loop_));
    // The last iteration of the loops around must be one that sums.
    if (!idle_limits(nest_, producer, loop_).empty())
      return refuse(Refusal::kBreaksDependence, step_.block);
    const ir::Block& block = nest_.blocks[consumer_];
    for (const ir::Read* read : ir::reads_of(block.body)) {
      if (read->tensor != buffer) continue;
      std::vector<int> iters;
      for (const ir::Affine& row : read->index)
        iters.push_back(row.offset == 0 ? plain_iter(row) : -1);
      for (std::size_t d = 0; d < iters.size(); ++d) {
        if (iters[d] < 0 || std::ranges::count(iters, iters[d]) > 1)
          return refuse(Refusal::kNotElementwise, step_.block);
        // A padded read asks for more than is ever computed: those elements of the consumer would
        // be left out.
        if (!nest_.sizes.at_least(nest_.buffers[buffer].shape[d],
                                  block.iters[static_cast<std::size_t>(iters[d])].extent))
          return refuse(Refusal::kBreaksDependence, step_.block);
        auto& span = spans_[static_cast<std::size_t>(iters[d])];
        if (span && (!analysis::same_start(*span, region.box[d]) ||
                     span->offset != region.box[d].offset || span->extent != region.box[d].extent))
          return refuse(Refusal::kBreaksDependence, step_.block);
        span = region.box[d];
        if (block.iters[static_cast<std::size_t>(iters[d])].kind == ir::IterKind::kReduce &&
            !is_whole(*span, block.iters[static_cast<std::size_t>(iters[d])].extent))
          return refuse(Refusal::kIsAReduction, step_.block);
      }
      for (RegionGuard guard : region.guards) {
        if (guard.dim >= 0) {
          const auto dim = static_cast<std::size_t>(guard.dim);
          const ir::BlockIter& iter = block.iters[static_cast<std::size_t>(iters[dim])];
          if (iter.kind == ir::IterKind::kReduce) {
            if (keeps_all(guard, region.box[dim], iter.extent)) continue;
            guard.sums = true;
          }
          guard.dim = iters[dim];
        }
        guards_.guards.push_back(std::move(guard));
      }
    }
    produced_.emplace_back(buffer, producer);
    return {};
  }

  // Where the producer's result is cached around the new place, makes the consumer read the cache.
  void use_caches() {
    for (const auto& [buffer, producer] : produced_) {
      const BufferId written = nest_.blocks[producer].writes;
      if (written != buffer &&
          nest_.is_inside({ir::Item::Kind::kLoop, loop_}, nest_.buffers[written].at))
        redirect_reads(nest_.blocks[consumer_], buffer, written, false);
    }
  }

  StepResult<void> place() {
    ir::Block block = nest_.blocks[consumer_];
    std::erase_if(block.iters, [](const ir::BlockIter& iter) { return iter.guard; });
    int position = 0;
    for (const BufferId buffer : buffers_read())
      for (const BlockId writer : analysis::writers_of(nest_, buffer, loop_))
        position = std::max(position, analysis::child_with(nest_, loop_, writer) + 1);
    LoopId parent = loop_;
    std::vector<std::vector<ir::LoopDigit>> inner;
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      ir::BlockIter& iter = block.iters[i];
      const auto& span = spans_[i];
      parent = LATHE_TRY(add_loop(nest_, step_.block + "." + iter.name + "@" + step_.loop,
                                  span ? span->extent : iter.extent, parent,
                                  parent == loop_ ? position : -1));
      inner.push_back({{parent, nest_.sizes.constant(1)}});
      if (span) {
        const ir::IterKind kept = iter.kind;
        iter = region_iter(nest_, iter.name, *span, 0, iter.extent, inner.back());
        iter.kind = kept;
      } else {
        iter.digits = inner.back();
        iter.offset = SizeId::kNone;
      }
    }
    add_guards(nest_, block, guards_, inner);
    nest_.blocks[consumer_] = std::move(block);
    insert_child(nest_, parent, {ir::Item::Kind::kBlock, consumer_},
                 parent == loop_ ? position : -1);
    return {};
  }

  // A result that now lives in one iteration of the loop only needs no storage beyond it, and no
  // write-back.
  void settle(BufferId buffer, BlockId producer) {
    const BufferId written = nest_.blocks[producer].writes;
    if (nest_.buffers[buffer].scope == ir::Scope::kOutput) return;
    // A scan reads again what it has written in other iterations.
    if (analysis::goes_along_scan(nest_, producer, loop_)) return;
    const LoopId cached_at = nest_.buffers[written].at;
    const bool whole =
        !analysis::is_partial_at(nest_, producer, written == buffer ? loop_ : cached_at);
    if (!whole) return;
    if (written != buffer && analysis::readers_of(nest_, buffer).empty()) {
      for (const BlockId id : analysis::writers_of(nest_, buffer)) remove_block(nest_, id);
      return;
    }
    for (const auto& users :
         {analysis::readers_of(nest_, buffer), analysis::writers_of(nest_, buffer)})
      for (const BlockId id : users)
        if (!nest_.is_inside({ir::Item::Kind::kBlock, id}, loop_)) return;
    if (!analysis::is_partial_at(nest_, producer, loop_)) nest_.buffers[buffer].at = loop_;
  }

  ir::Nest& nest_;
  const ReverseComputeAt& step_;
  BlockId consumer_ = -1;
  LoopId loop_ = ir::kRoot;
  std::vector<std::optional<analysis::Span>> spans_;  // by iterator of the consumer
  Region guards_;
  std::vector<std::pair<BufferId, BlockId>> produced_;
};

}  // namespace

std::string ReverseComputeAt::text() const {
  return fmt::format("compute {} behind its producer at {}", block, loop);
}

StepResult<void> apply_step(ir::Nest& nest, const ReverseComputeAt& step) {
  return Mover(nest, step).run();
}

}  // namespace lathe::schedule
