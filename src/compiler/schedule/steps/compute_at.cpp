#include "compiler/schedule/steps/compute_at.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/box.h"
#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::BlockId;
using ir::BufferId;
using ir::LoopId;
using ir::SizeId;

// True if the block reads all that the producer can write in the end, element for element. That is
// the producer's domain, not its buffer's shape: a cache with its padding begins below 0 and ends
// beyond the shape.
bool reads_all(ir::Nest& nest, BlockId reader, BlockId producer) {
  const BufferId id = nest.blocks[producer].writes;
  if (ir::looks_up(nest.blocks[reader].body, id)) return false;
  const std::vector<ir::Affine>* index = nullptr;
  for (const ir::Read* read : ir::reads_of(nest.blocks[reader].body)) {
    if (read->tensor != id) continue;
    if (read->pad || (index != nullptr && *index != read->index)) return false;
    index = &read->index;
  }
  std::vector<LoopId> driven;
  for (std::size_t d = 0; d < index->size(); ++d) {
    const int iter = plain_iter((*index)[d]);
    const ir::Affine& written = nest.blocks[producer].index[d];
    const int domain = plain_iter(written);
    if (iter < 0 || domain < 0) return false;
    for (const ir::LoopDigit& digit :
         nest.blocks[reader].iters[static_cast<std::size_t>(iter)].digits) {
      if (std::ranges::count(driven, digit.loop) > 0) return false;
      driven.push_back(digit.loop);
    }
    const analysis::Span span = analysis::span_of(nest, reader, (*index)[d], nest.buffers[id].at);
    const SizeId extent = nest.blocks[producer].iters[static_cast<std::size_t>(domain)].extent;
    const bool whole = span.start.empty() && span.dense &&
                       span.offset == nest.sizes.constant(written.offset) &&
                       nest.sizes.at_least(span.extent, extent);
    if (!whole) return false;
  }
  return true;
}

// True if loops that may run at the same time would compute an element twice: what the reader
// leaves to another iteration is computed in both.
bool may_overlap(const ir::Nest& nest, BlockId reader, BufferId id, LoopId loop) {
  const std::vector<ir::BlockIter>& iters = nest.blocks[reader].iters;
  const auto is_spatial = [&](const ir::LoopDigit& digit) {
    return !nest.is_reduction_loop(reader, digit.loop);
  };
  for (const ir::BlockIter& iter : iters)
    if (iter.guard && std::ranges::any_of(iter.digits, is_spatial)) return true;
  for (const LoopId around : nest.path_to(loop)) {
    const LoopId home = nest.buffers[id].at;
    const bool outside = home != ir::kRoot && nest.is_inside({ir::Item::Kind::kLoop, home}, around);
    const ir::Loop& l = nest.loops[around];
    if (!outside && (ir::is_concurrent(l.kind) || l.tail == ir::Tail::kShift)) return true;
  }
  return false;
}

// Brings what has the loop before the others that read the buffer, if it may stand there.
void bring_forward(ir::Nest& nest, BufferId id, LoopId loop) {
  const LoopId home = nest.buffers[id].at;
  std::vector<ir::Item>& items = nest.children(home);
  const auto inside = analysis::readers_of(nest, id, loop);
  const auto place = items.begin() + analysis::child_with(nest, home, inside.front());
  auto first = place;
  for (const BlockId reader : analysis::readers_of(nest, id))
    first = std::min(first, items.begin() + analysis::child_with(nest, home, reader));
  if (std::none_of(first, place, [&](const ir::Item& i) { return depend(nest, i, *place); }))
    std::rotate(first, place, place + 1);
}

// Others may read the buffer, too, if they do so later and all of it is there then.
StepResult<void> check_later_readers(ir::Nest& nest, const ComputeAt& step, BlockId producer,
                                     LoopId loop) {
  const BufferId id = nest.blocks[producer].writes;
  const LoopId home = nest.buffers[id].at;
  bring_forward(nest, id, loop);
  const auto inside = analysis::readers_of(nest, id, loop);
  const int place = analysis::child_with(nest, home, inside.front());
  for (const BlockId reader : analysis::readers_of(nest, id))
    if (std::ranges::find(inside, reader) == inside.end() &&
        analysis::child_with(nest, home, reader) <= place)
      return refuse(Refusal::kMultipleConsumers, step.block);
  if (inside.size() != 1 || !reads_all(nest, inside.front(), producer) ||
      may_overlap(nest, inside.front(), id, loop))
    return refuse(Refusal::kMultipleConsumers, step.block);
  return {};
}

StepResult<void> check(ir::Nest& nest, const ComputeAt& step, BlockId producer, LoopId loop) {
  const ir::Block block = nest.blocks[producer];
  const ir::Buffer result = nest.buffers[block.writes];
  if (result.scope == ir::Scope::kOutput) return refuse(Refusal::kIsOutput, step.block);
  if (nest.is_inside({ir::Item::Kind::kBlock, producer}, loop))
    return refuse(Refusal::kThereAlready, step.loop);
  if (analysis::writers_of(nest, block.writes).size() != 1 || nest.is_write_back(producer))
    return refuse(Refusal::kMultipleConsumers, step.block);
  if (!nest.is_inside({ir::Item::Kind::kLoop, loop}, result.at))
    return refuse(Refusal::kNotUsedThere, step.loop);
  const auto readers = analysis::readers_of(nest, block.writes);
  const auto inside = analysis::readers_of(nest, block.writes, loop);
  if (inside.empty()) return refuse(Refusal::kNotUsedThere, step.loop);
  // All of it would be computed in each iteration.
  if (analysis::is_looked_up(nest, block.writes, loop))
    return refuse(Refusal::kNotElementwise, step.block);
  if (inside.size() != readers.size())
    LATHE_TRY_STATUS(check_later_readers(nest, step, producer, loop));
  if (!std::ranges::all_of(block.index,
                           [](const ir::Affine& row) { return plain_iter(row) >= 0; }) ||
      !analysis::can_be_placed_anew(nest, producer))
    return refuse(Refusal::kNotElementwise, step.block);
  // What the block reads must be there completely, not only as far as the old place asked for it.
  for (const BufferId read : ir::tensors_of(block.body))
    if (analysis::is_in_the_making(nest, read, loop))
      return refuse(Refusal::kBreaksDependence, step.block);
  // The block's own loops go with it, up to a loop that is around the new place too.
  const auto own = analysis::own_loops(nest, producer, loop);
  const LoopId above = own.empty() ? block.parent : nest.loops[own.front()].parent;
  if (!nest.is_inside({ir::Item::Kind::kLoop, loop}, above))
    return refuse(Refusal::kNotNested, step.block);
  return {};
}

// A box that no outer loop shifts need not leave the producer's domain.
void cut(ir::Sizes& sizes, analysis::Span& span, std::int64_t low, SizeId domain) {
  if (!span.start.empty()) return;
  const SizeId first = sizes.constant(low), end = sizes.add(first, domain);
  const SizeId wanted_end = sizes.add(span.offset, span.extent);
  span.offset = sizes.at_least(span.offset, first) ? span.offset : sizes.max(span.offset, first);
  const SizeId new_end = sizes.at_least(end, wanted_end) ? wanted_end : sizes.min(wanted_end, end);
  span.extent = sizes.add(new_end, sizes.mul(span.offset, sizes.constant(-1)));
  if (sizes.is_constant(span.extent) && sizes.constant_value(span.extent) < 1)
    span.extent = sizes.constant(1);
}

// Limits an iterator to the part of its domain that the loops reach so far: what the block reads
// need not exist beyond it.
void keep_to_reached(ir::Nest& nest, ir::BlockIter& iter) {
  ir::Sizes& sizes = nest.sizes;
  SizeId reached = analysis::reach_of(nest, iter.digits);
  if (iter.offset != SizeId::kNone) reached = sizes.add(reached, iter.offset);
  if (!sizes.at_least(reached, iter.extent)) iter.extent = sizes.min(iter.extent, reached);
}

StepResult<void> place_in(ir::Nest& nest, BlockId id, const ComputeAt& step, LoopId loop,
                          analysis::Box box) {
  ir::Block block = nest.blocks[id];
  std::erase_if(block.iters, [](const ir::BlockIter& iter) { return iter.guard; });
  const BlockId first_reader = analysis::readers_of(nest, block.writes, loop).front();
  const int position = analysis::child_with(nest, loop, first_reader);
  LoopId parent = loop;
  const auto new_loop = [&](const ir::BlockIter& iter, SizeId extent) -> StepResult<ir::LoopDigit> {
    parent = LATHE_TRY(add_loop(nest, step.block + "." + iter.name + "@" + step.loop, extent,
                                parent, parent == loop ? position : -1));
    return ir::LoopDigit{parent, nest.sizes.constant(1)};
  };
  for (std::size_t d = 0; d < block.index.size(); ++d) {
    ir::BlockIter& iter = block.iters[static_cast<std::size_t>(plain_iter(block.index[d]))];
    keep_to_reached(nest, iter);
    cut(nest.sizes, box[d], block.index[d].offset, iter.extent);
    const ir::LoopDigit inner = LATHE_TRY(new_loop(iter, box[d].extent));
    const SizeId offset =
        nest.sizes.add(box[d].offset, nest.sizes.constant(-block.index[d].offset));
    iter.digits = box[d].start;
    iter.digits.push_back(inner);
    iter.offset = offset == nest.sizes.constant(0) ? SizeId::kNone : offset;
  }
  for (ir::BlockIter& iter : block.iters) {
    if (iter.kind != ir::IterKind::kReduce) continue;
    iter.digits = {LATHE_TRY(new_loop(iter, iter.extent))};
    iter.offset = SizeId::kNone;
  }
  nest.blocks[id] = std::move(block);
  insert_child(nest, parent, {ir::Item::Kind::kBlock, id}, parent == loop ? position : -1);
  return {};
}

}  // namespace

std::string ComputeAt::text() const {
  const std::string out = fmt::format("compute {} at {}", block, loop);
  return scope == ir::Scope::kMemory ? out : out + fmt::format(" in {}", ir::name_of(scope));
}

StepResult<void> apply_step(ir::Nest& nest, const ComputeAt& step) {
  const BlockId producer = LATHE_TRY(block_named(nest, step.block));
  const LoopId loop = LATHE_TRY(loop_named(nest, step.loop));
  if (is_tensorized(nest, loop)) return refuse(Refusal::kAlreadyBound, step.loop);
  if (auto legal = check(nest, step, producer, loop); !legal) return legal;
  const BufferId result = nest.blocks[producer].writes;
  const ir::Scope before = nest.buffers[result].scope;
  const ir::Scope scope = step.scope == ir::Scope::kMemory ? before : step.scope;
  const bool of_group = scope == ir::Scope::kGroup;
  if (scope != before && !of_group) return refuse(Refusal::kBadScope, step.block);
  const bool alone =
      analysis::readers_of(nest, result).size() == analysis::readers_of(nest, result, loop).size();
  if (of_group && !alone) return refuse(Refusal::kMultipleConsumers, step.block);
  std::vector<LoopId> relaxed;
  if (of_group) relaxed = analysis::item_loops_around(nest, loop);
  const analysis::Box box = analysis::box_read(nest, result, loop, relaxed);
  detach_block(nest, producer, loop);
  if (auto placed = place_in(nest, producer, step, loop, box); !placed) return placed;
  if (alone) nest.buffers[result].at = loop;
  nest.buffers[result].scope = scope;
  return {};
}

}  // namespace lathe::schedule
