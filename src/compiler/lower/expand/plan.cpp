// Plans what is known before code is emitted: sizes as numbers, constraints, where accumulators
// start, and where every buffer is stored.
#include <algorithm>

#include "compiler/ir/expr/padding.h"
#include "compiler/lower/expand/expander.h"

namespace lathe::lower {

bool Expander::inside(LoopId loop, LoopId ancestor) const {
  return loop != ancestor &&
         (ancestor == ir::kRoot || nest_.is_inside({ir::Item::Kind::kLoop, loop}, ancestor));
}

bool Expander::in_parallel(LoopId loop) const {
  for (; loop != ir::kRoot; loop = nest_.loops[loop].parent)
    if (nest_.loops[loop].kind == ir::LoopKind::kParallel) return true;
  return false;
}

bool Expander::is_cache_of(BufferId cache, BufferId buffer) const {
  return nest_.buffers[cache].cache_of == buffer;
}

Range Expander::free_range(const Digit& digit) const {
  std::int64_t count = (sized_.extent(digit.loop) + digit.div - 1) / digit.div;
  if (digit.mod > 0) count = std::min(count, digit.mod);
  const std::int64_t far = digit.weight * (count - 1);
  return {std::min<std::int64_t>(0, far), std::max<std::int64_t>(0, far)};
}

bool Expander::reduces_over(BlockId block, LoopId loop) const {
  return nest_.is_reduction_loop(block, loop);
}

void Expander::plan_blocks() {
  blocks_.resize(nest_.blocks.size());
  proven_.resize(nest_.blocks.size());
  for (std::size_t id = 0; id < nest_.blocks.size(); ++id) {
    const ir::Block& block = nest_.blocks[id];
    BlockPlan& plan = blocks_[id];
    plan.live = !block.dead;
    if (block.dead) continue;
    plan.path = nest_.loops_around(static_cast<BlockId>(id));
    for (const ir::BlockIter& it : block.iters) {
      Iter iter{{},
                sized_.or_else(it.offset, 0),
                sized_[it.extent],
                it.kind == ir::IterKind::kReduce,
                it.guard};
      for (const ir::Digit& d : it.digits)
        iter.digits.push_back(
            {d.loop, sized_[d.weight], sized_.or_else(d.div, 1), sized_.or_else(d.mod, 0)});
      plan.iters.push_back(std::move(iter));
    }
    for (int i = 0; i < static_cast<int>(plan.iters.size()); ++i)
      plan.constraints.push_back(
          {Constraint::Kind::kDomain, i, nullptr, {{i, 1}}, 0, 0, plan.iters[i].extent});
    add_borders(static_cast<BlockId>(id));
    proven_[id].assign(plan.constraints.size(), 0);
  }
  blocks_in_.resize(nest_.loops.size());
  for (std::size_t id = 0; id < nest_.blocks.size(); ++id)
    for (const LoopId loop : blocks_[id].path) blocks_in_[loop].push_back(static_cast<BlockId>(id));
}

void Expander::add_borders(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  ir::for_each_node(block.body, [&](const ir::Expr& e) {
    const ir::Border value = ir::border_of(e);
    if (value.node == nullptr) return;
    const auto kind = ir::kills(block.reduce, block.body, value) ? Constraint::Kind::kKill
                                                                 : Constraint::Kind::kSelect;
    const auto add = [&](const ir::Affine& row, std::int64_t low, std::int64_t high) {
      blocks_[id].constraints.push_back({kind, -1, value.node, row.terms, row.offset, low, high});
    };
    if (const auto* read = std::get_if<ir::Read>(&e->value)) {
      const auto& shape = nest_.buffers[read->tensor].shape;
      for (std::size_t d = 0; d < read->index.size(); ++d) add(read->index[d], 0, sized_[shape[d]]);
    } else {
      const ir::Expr& condition = std::get<ir::Select>(e->value).condition;
      for (const auto& row : std::get<ir::InRange>(condition->value).rows)
        add(row.index, row.low, row.high);
    }
  });
}

// True if elements may get no term in some iteration of a loop that belongs to both the result and
// the reduction (rfactor). They must be started or reloaded all the same.
bool Expander::leaves_out_terms(BlockId id, LoopId loop) const {
  const BlockPlan& plan = blocks_[id];
  for (int k = 0; k < static_cast<int>(plan.constraints.size()); ++k) {
    const Constraint& c = plan.constraints[k];
    if (c.kind == Constraint::Kind::kDomain && plan.iters[c.iter].reduce &&
        involves(plan, c, loop) && status(plan, k) != Status::kAlways)
      return true;
  }
  return false;
}

void Expander::plan_reductions(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  BlockPlan& plan = blocks_[id];
  if (block.reduce == ir::ReduceOp::kNone) return;
  const ir::Buffer& result = nest_.buffers[block.writes];
  for (const LoopId loop : plan.path) {
    if (!reduces_over(id, loop)) continue;
    if (!inside(loop, result.at)) {
      plan.resumed_over.push_back(loop);
      keeps_iterations_[loop] = 1;
    }
  }
  const auto starts = [&](LoopId loop) {
    return inside(loop, result.at) && (reduces_over(id, loop) || leaves_out_terms(id, loop));
  };
  if (const auto first = std::ranges::find_if(plan.path, starts); first != plan.path.end())
    plan.init_loop = *first;
  if (!plan.resumed_over.empty() && result.cache_of < 0)
    refuse(ErrorKind::kIllegalSchedule,
           "the partial results of {} are lost between iterations of {}: keep {} outside that "
           "loop, or cache it there",
           block.name, nest_.loops[plan.resumed_over[0]].name, result.name);
}

// A block that reads a reduction's result inside one of the reduction's loops must wait for the
// last iteration of that loop.
void Expander::plan_consumers(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  BlockPlan& plan = blocks_[id];
  for (const ir::Read* read : ir::reads_of(block.body)) {
    // A write-back saves partial results, too.
    if (is_cache_of(read->tensor, block.writes)) continue;
    for (BlockId w = 0; w < static_cast<BlockId>(blocks_.size()); ++w) {
      if (w == id || nest_.blocks[w].dead || nest_.blocks[w].writes != read->tensor) continue;
      BlockPlan::Progress progress{w, {}};
      for (const LoopId loop : plan.path) {
        if (!reduces_over(w, loop)) continue;
        progress.loops.push_back(loop);
        keeps_iterations_[loop] = 1;
      }
      if (!progress.loops.empty()) plan.only_in_last.push_back(std::move(progress));
    }
  }
}

// What a waiting block computes is there only after it has run, so its readers in the same loops
// wait too.
void Expander::inherit_waits(BlockId id) {
  BlockPlan& plan = blocks_[id];
  for (const ir::Read* read : ir::reads_of(nest_.blocks[id].body)) {
    for (BlockId w = 0; w < static_cast<BlockId>(blocks_.size()); ++w) {
      if (w == id || nest_.blocks[w].dead || nest_.blocks[w].writes != read->tensor) continue;
      for (BlockPlan::Progress progress : blocks_[w].only_in_last) {
        std::erase_if(progress.loops,
                      [&](LoopId l) { return std::ranges::find(plan.path, l) == plan.path.end(); });
        if (!progress.loops.empty()) plan.only_in_last.push_back(std::move(progress));
      }
    }
  }
}

void Expander::drop_dead_write_backs() {
  for (std::size_t id = 0; id < blocks_.size(); ++id) {
    const ir::Block& block = nest_.blocks[id];
    if (block.dead || nest_.buffers[block.writes].scope != ir::Scope::kMemory) continue;
    const auto reads = ir::reads_of(block.body);
    if (reads.size() != 1 || !is_cache_of(reads[0]->tensor, block.writes)) continue;
    bool read_elsewhere = false;
    for (std::size_t r = 0; r < blocks_.size(); ++r) {
      if (nest_.blocks[r].dead || r == id) continue;
      for (const ir::Read* read : ir::reads_of(nest_.blocks[r].body))
        read_elsewhere |= read->tensor == block.writes;
    }
    if (read_elsewhere) continue;
    BlockPlan::Progress progress;
    for (std::size_t w = 0; w < blocks_.size(); ++w)
      if (!nest_.blocks[w].dead && nest_.blocks[w].writes == reads[0]->tensor && w != id)
        progress = {static_cast<BlockId>(w), blocks_[w].resumed_over};
    blocks_[id].live = !progress.loops.empty();
    blocks_[id].never_in_last = progress;
  }
}

void Expander::plan_storage(BufferId id) {
  const ir::Buffer& buffer = nest_.buffers[id];
  Storage& storage = storage_[id];
  storage.is_register = buffer.scope == ir::Scope::kRegister;
  storage.start.resize(buffer.shape.size());
  for (const ir::SizeId size : buffer.shape) storage.extent.push_back(sized_[size]);
  const bool own_box = storage.is_register || buffer.scope == ir::Scope::kMemory;
  const BlockPlan* plan = nullptr;
  const ir::Block* writer = nullptr;
  for (std::size_t b = 0; own_box && b < blocks_.size(); ++b) {
    if (nest_.blocks[b].dead || nest_.blocks[b].writes != id) continue;
    writer = &nest_.blocks[b];
    plan = &blocks_[b];
    break;
  }
  for (std::size_t d = 0; writer != nullptr && d < buffer.shape.size(); ++d) {
    Storage::Start& start = storage.start[d];
    start.offset = writer->index[d].offset;
    std::int64_t span = 0;
    for (const auto& [i, coef] : writer->index[d].terms) {
      const Iter& iter = plan->iters[i];
      start.offset += coef * iter.offset;
      Range inner{};
      bool outer = iter.offset != 0;
      for (const Digit& digit : iter.digits) {
        const Range r = free_range(digit);
        if (inside(digit.loop, buffer.at)) {
          inner.min += r.min;
          inner.max += r.max;
        } else {
          start.digits.push_back({digit.loop, coef * digit.weight, digit.div, digit.mod});
          outer = true;
        }
      }
      if (!outer) inner.max = std::min(inner.max, iter.extent - 1);
      start.offset += coef * (coef > 0 ? inner.min : inner.max);
      span += std::abs(coef) *
              std::min(inner.max - inner.min, outer ? inner.max - inner.min : iter.extent - 1);
    }
    storage.extent[d] = span + 1;
  }
  plan_layout(id, storage);
}

void Expander::plan_layout(BufferId id, Storage& storage) {
  const ir::Buffer& buffer = nest_.buffers[id];
  if (buffer.layout.empty()) {
    for (int d = 0; d < static_cast<int>(buffer.shape.size()); ++d)
      storage.digits.push_back({d, 1, 0, 0});
  } else {
    for (const auto& [dim, weight] : buffer.layout)
      storage.digits.push_back({dim, sized_[weight], 0, 0});
  }
  std::vector<std::int64_t> counts;
  for (StorageDigit& digit : storage.digits) {
    // The next larger weight of this dim; of equal ones, the outer is the larger.
    std::int64_t above = 0;
    for (const StorageDigit& other : storage.digits) {
      const bool larger =
          other.weight > digit.weight || (other.weight == digit.weight && &other < &digit);
      if (other.dim == digit.dim && larger && (above == 0 || other.weight < above))
        above = other.weight;
    }
    if (above > 0 && above % digit.weight != 0)
      refuse(ErrorKind::kIllegalSchedule,
             "layout of {}: weight {} of dimension {} does not divide {}", buffer.name,
             digit.weight, digit.dim, above);
    digit.modulus = above;
    counts.push_back(above > 0 ? above / digit.weight
                               : (storage.extent[digit.dim] + digit.weight - 1) / digit.weight);
  }
  std::int64_t stride = 1;
  for (std::size_t k = storage.digits.size(); k-- > 0;) {
    storage.digits[k].stride = stride;
    if (__builtin_mul_overflow(stride, counts[k], &stride) ||
        stride > limits_.max_scratch_bytes * 64)
      refuse(ErrorKind::kIllegalSchedule, "the storage of {} is too large", buffer.name);
    if (k + 1 == storage.digits.size() && storage.digits.size() > 1) stride += buffer.pad_stride;
  }
  storage.size = stride;
  // For any digit past the first, its count bounds what it holds of a coordinate. Tests of bounds
  // need this.
  for (std::size_t k = 0; k < storage.digits.size(); ++k)
    if (storage.digits[k].modulus == 0)
      storage.extent[storage.digits[k].dim] = counts[k] * storage.digits[k].weight;
}

// A copy into a cache fills the padding of the cache's layout with zeros, so that whole vectors can
// be read from it.
void Expander::fill_padding(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  const ir::Buffer& cache = nest_.buffers[block.writes];
  const auto* read = std::get_if<ir::Read>(&block.body->value);
  if (block.reduce != ir::ReduceOp::kNone || cache.scope != ir::Scope::kMemory || read == nullptr ||
      cache.cache_of != read->tensor)
    return;
  for (Constraint& c : blocks_[id].constraints) {
    if (c.kind != Constraint::Kind::kDomain) continue;
    for (std::size_t d = 0; d < block.index.size(); ++d) {
      if (block.index[d].terms.size() != 1 || block.index[d].terms[0] != ir::AffineTerm{c.iter, 1})
        continue;
      std::int64_t span = 1;  // of the copy's own loops
      for (const Digit& digit : blocks_[id].iters[c.iter].digits)
        if (inside(digit.loop, cache.at)) span += free_range(digit).max;
      if (span > storage_[block.writes].extent[d]) continue;
      c.kind = Constraint::Kind::kSelect;
      c.border = read;
      c.beyond_domain = true;
    }
  }
}

void Expander::plan_borders() {
  for (std::size_t id = 0; id < nest_.buffers.size(); ++id) {
    const ir::Buffer& buffer = nest_.buffers[id];
    if (buffer.scope != ir::Scope::kInput && buffer.scope != ir::Scope::kOutput) continue;
    flat::Border border{buffer.name, buffer.dtype, {}, {}, storage_[id].size, buffer.constant};
    for (const ir::SizeId size : buffer.shape) border.shape.push_back(sized_[size]);
    for (const StorageDigit& d : storage_[id].digits) {
      const std::int64_t count =
          (d.modulus > 0 ? d.modulus : storage_[id].extent[d.dim]) / d.weight;
      border.layout.push_back({d.dim, d.weight, count, d.stride});
    }
    (buffer.scope == ir::Scope::kInput ? program_.inputs : program_.outputs)
        .push_back(std::move(border));
  }
}

void Expander::allocate() {
  std::vector<char> used(nest_.buffers.size(), 0);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (!blocks_[b].live) continue;
    used[nest_.blocks[b].writes] = 1;
    for (const ir::Read* read : ir::reads_of(nest_.blocks[b].body)) used[read->tensor] = 1;
    const BufferId cached = nest_.buffers[nest_.blocks[b].writes].cache_of;
    if (!blocks_[b].resumed_over.empty() && cached >= 0) used[cached] = 1;
  }
  std::int64_t inputs = 0, outputs = 0;
  for (std::size_t id = 0; id < nest_.buffers.size(); ++id) {
    const ir::Buffer& buffer = nest_.buffers[id];
    const bool border = buffer.scope == ir::Scope::kInput || buffer.scope == ir::Scope::kOutput;
    if (storage_[id].is_register || (!used[id] && !border)) continue;
    flat::Buffer made{buffer.name, buffer.dtype, storage_[id].size, flat::Scope::kWorkspace, 0, {}};
    const auto reserve = [&](flat::Scope scope, std::int64_t& area) {
      made.scope = scope;
      made.slot = area;
      area += (storage_[id].size * size_of(buffer.dtype) + 63) / 64 * 64;
      if (area > limits_.max_scratch_bytes)
        refuse(ErrorKind::kIllegalSchedule, "the scratch memory exceeds {} bytes at {}",
               limits_.max_scratch_bytes, buffer.name);
    };
    switch (buffer.scope) {
      case ir::Scope::kInput: made.scope = flat::Scope::kInput, made.slot = inputs++; break;
      case ir::Scope::kOutput: made.scope = flat::Scope::kOutput, made.slot = outputs++; break;
      case ir::Scope::kLiteral:
        made.scope = flat::Scope::kLiteral, made.literal = buffer.literal;
        break;
      case ir::Scope::kMemory:
        if (in_parallel(buffer.at)) reserve(flat::Scope::kWorker, program_.worker_bytes);
        else if (prepared_[id]) reserve(flat::Scope::kConstant, program_.constant_bytes);
        else reserve(flat::Scope::kWorkspace, program_.workspace_bytes);
        break;
      case ir::Scope::kRegister: break;
      case ir::Scope::kShared:
      case ir::Scope::kLocal:
        refuse(ErrorKind::kUnsupported, "buffer {} is in {} memory, which only GPU targets have",
               buffer.name, ir::name_of(buffer.scope));
    }
    storage_[id].buffer = static_cast<int>(program_.buffers.size());
    program_.buffers.push_back(std::move(made));
  }
}

}  // namespace lathe::lower
