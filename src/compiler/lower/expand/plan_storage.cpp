// Where buffers are: the box that is held of each, its layout, and its place in scratch memory.
#include <algorithm>
#include <utility>

#include "compiler/lower/expand/planner.h"

namespace lathe::lower {
namespace {

// The row that padding belongs to begins at this digit: at the innermost, and in memory of a group
// at the first of those of its dimension that lie side by side.
std::size_t first_of_row(const ir::Buffer& buffer, const std::vector<LayoutDigit>& digits) {
  std::size_t row = digits.size() - 1;
  if (buffer.scope != ir::Scope::kGroup) return row;
  while (row > 0 && digits[row - 1].dim == digits[row].dim &&
         digits[row - 1].weight == digits[row].modulus)
    --row;
  return row;
}

}  // namespace

void Planner::plan_storage(BufferId id) {
  const ir::Buffer& buffer = nest_.buffers[id];
  Storage& storage = plan_.storage[id];
  const bool of_lanes = buffer.scope == ir::Scope::kLanes;
  storage.is_register = buffer.scope == ir::Scope::kRegister || of_lanes;
  storage.start.resize(buffer.shape.size());
  for (const ir::SizeId size : buffer.shape) storage.extent.push_back(sized_[size]);
  const bool own_box = storage.is_register || buffer.scope == ir::Scope::kMemory ||
                       buffer.scope == ir::Scope::kGroup;
  const BlockPlan* plan = nullptr;
  const ir::Block* writer = nullptr;
  for (std::size_t b = 0; own_box && b < plan_.blocks.size(); ++b) {
    if (nest_.blocks[b].dead || nest_.blocks[b].writes != id) continue;
    writer = &nest_.blocks[b];
    plan = &plan_.blocks[b];
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
      const bool down =
          std::ranges::any_of(iter.digits, [](const LoopDigit& digit) { return digit.weight < 0; });
      bool outer = iter.offset != 0 && !down;
      for (const LoopDigit& digit : iter.digits) {
        const Range r = plan_.free_range(digit);
        if (plan_.inside(digit.loop, buffer.at)) {
          inner.min += r.min;
          inner.max += r.max;
        } else {
          start.digits.push_back({digit.loop, coef * digit.weight, digit.div, digit.mod});
          outer = true;
        }
      }
      if (!outer) {
        inner.min = std::max(inner.min, -iter.offset);
        inner.max = std::max(inner.min, std::min(inner.max, iter.extent - 1 - iter.offset));
      }
      start.offset += coef * (coef > 0 ? inner.min : inner.max);
      span += std::abs(coef) *
              std::min(inner.max - inner.min, outer ? inner.max - inner.min : iter.extent - 1);
    }
    storage.extent[d] = span + 1;
  }
  plan_layout(id, storage);
}

void Planner::plan_layout(BufferId id, Storage& storage) {
  const ir::Buffer& buffer = nest_.buffers[id];
  if (buffer.layout.empty()) {
    for (int d = 0; d < static_cast<int>(buffer.shape.size()); ++d)
      storage.digits.push_back({d, 1, 0, 0});
  } else {
    for (const auto& [dim, weight] : buffer.layout)
      storage.digits.push_back({dim, sized_[weight], 0, 0});
  }
  std::vector<std::int64_t> counts;
  for (LayoutDigit& digit : storage.digits) {
    // The next larger weight of this dim; of equal ones, the outer is the larger.
    std::int64_t above = 0;
    for (const LayoutDigit& other : storage.digits) {
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
    if (k > 0 && k == first_of_row(buffer, storage.digits)) stride += buffer.pad_stride;
  }
  storage.stage = stride;
  storage.size = stride * (buffer.stages > 1 ? plan_.stages_of(buffer.at) : 1);
  // For any digit past the first, its count bounds what it holds of a coordinate. Tests of bounds
  // need this.
  for (std::size_t k = 0; k < storage.digits.size(); ++k)
    if (storage.digits[k].modulus == 0)
      storage.extent[storage.digits[k].dim] = counts[k] * storage.digits[k].weight;
  if (buffer.scope == ir::Scope::kGroup) join_digits(storage);
  if (plan_.is_spread(id)) drop_spread_digits(id, storage);
}

// A row that is padded up to whole vectors has two digits, which are one where they lie side by
// side: then no address needs a division.
void Planner::join_digits(Storage& storage) {
  std::vector<LayoutDigit> joined;
  for (const LayoutDigit& digit : storage.digits) {
    if (!joined.empty()) {
      LayoutDigit& above = joined.back();
      if (above.dim == digit.dim && above.weight == digit.modulus &&
          above.stride * digit.weight == digit.stride * digit.modulus) {
        above.weight = digit.weight;
        above.stride = digit.stride;
        continue;
      }
    }
    joined.push_back(digit);
  }
  storage.digits = std::move(joined);
}

// A copy into a cache fills the padding of the cache's layout with zeros, so that whole vectors can
// be read from it.
void Planner::fill_padding(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  const ir::Buffer& cache = nest_.buffers[block.writes];
  const auto* read = std::get_if<ir::Read>(&block.body->value);
  const bool in_memory = cache.scope == ir::Scope::kMemory || cache.scope == ir::Scope::kGroup;
  if (block.reduce != ir::ReduceOp::kNone || !in_memory || read == nullptr ||
      cache.cache_of != read->tensor)
    return;
  for (Constraint& c : plan_.blocks[id].constraints) {
    if (c.kind != Constraint::Kind::kDomain) continue;
    for (std::size_t d = 0; d < block.index.size(); ++d) {
      if (block.index[d].terms.size() != 1 || block.index[d].terms[0] != ir::AffineTerm{c.iter, 1})
        continue;
      std::int64_t span = 1;  // of the copy's own loops
      for (const LoopDigit& digit : plan_.blocks[id].iters[c.iter].digits)
        if (plan_.inside(digit.loop, cache.at)) span += plan_.free_range(digit).max;
      if (span > plan_.storage[block.writes].extent[d]) continue;
      c.kind = Constraint::Kind::kSelect;
      c.read = read;
      c.beyond_domain = true;
    }
  }
}

void Planner::plan_borders() {
  for (std::size_t id = 0; id < nest_.buffers.size(); ++id) {
    const ir::Buffer& buffer = nest_.buffers[id];
    if (buffer.scope != ir::Scope::kInput && buffer.scope != ir::Scope::kOutput) continue;
    flat::Border border{buffer.name, buffer.dtype, {}, {}, plan_.storage[id].size, buffer.constant};
    for (const ir::SizeId size : buffer.shape) border.shape.push_back(sized_[size]);
    for (const LayoutDigit& d : plan_.storage[id].digits) {
      const std::int64_t count =
          (d.modulus > 0 ? d.modulus : plan_.storage[id].extent[d.dim]) / d.weight;
      border.layout.push_back({d.dim, d.weight, count, d.stride});
    }
    (buffer.scope == ir::Scope::kInput ? program_.inputs : program_.outputs)
        .push_back(std::move(border));
  }
}

// Code that depends only on constants runs once, in prepare(): whole top-level items. A constant
// buffer may be computed in one loop with others; it is then computed in every run, and so is what
// reads it.
void Planner::plan_prepare() {
  plan_.prepared.assign(nest_.buffers.size(), 0);
  for (std::size_t id = 0; id < nest_.buffers.size(); ++id)
    plan_.prepared[id] = nest_.buffers[id].constant;
  const auto unprepared = [&](BlockId id) {
    const ir::Block& block = nest_.blocks[id];
    const auto reads = ir::tensors_of(block.body);
    const auto varies = [&](BufferId read) {
      return nest_.buffers[read].scope != ir::Scope::kLiteral && plan_.prepared[read] == 0;
    };
    return plan_.prepared[block.writes] == 0 || std::ranges::any_of(reads, varies);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const ir::Item& item : nest_.root) {
      const auto blocks = plan_.blocks_of(item);
      if (std::ranges::none_of(blocks, unprepared)) continue;
      for (const BlockId id : blocks)
        changed |= std::exchange(plan_.prepared[nest_.blocks[id].writes], 0) != 0;
    }
  }
}

void Planner::check_grid_around(const ir::Buffer& buffer) const {
  if (!plan_.grids)
    refuse(ErrorKind::kUnsupported,
           "buffer {} is in the memory of a group, which processors have not; keep it in memory",
           buffer.name);
  if (!plan_.in_parallel(buffer.at))
    refuse(ErrorKind::kIllegalSchedule,
           "buffer {} is in the memory of a group, but in no loop that is bound to blockIdx or "
           "threadIdx",
           buffer.name);
}

// Each kernel has the memory of its groups for itself.
void Planner::place_in_group(BufferId id, flat::Buffer& made) {
  const ir::Buffer& buffer = nest_.buffers[id];
  std::int64_t& area = group_bytes_[nest_.path_to(buffer.at).front()];
  made.scope = flat::Scope::kGroup;
  made.slot = area;
  area += (plan_.storage[id].size * size_of(buffer.dtype) + 63) / 64 * 64;
  program_.group_bytes = std::max(program_.group_bytes, area);
  if (area > plan_.grids->group_bytes)
    refuse(ErrorKind::kIllegalSchedule,
           "with {} a group needs {} bytes of memory; the device has {}: stage less of it",
           buffer.name, area, plan_.grids->group_bytes);
}

namespace {

tensor::Data literal_of(const ir::Buffer& buffer) {
  return tensor::Data::of(buffer.dtype, buffer.literal);
}

}  // namespace

void Planner::allocate() {
  std::vector<char> used(nest_.buffers.size(), 0);
  for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
    if (!plan_.blocks[b].live) continue;
    used[nest_.blocks[b].writes] = 1;
    for (const BufferId read : ir::tensors_of(nest_.blocks[b].body)) used[read] = 1;
    const BufferId cached = nest_.buffers[nest_.blocks[b].writes].cache_of;
    if (!plan_.blocks[b].resumed_over.empty() && cached >= 0) used[cached] = 1;
  }
  std::int64_t inputs = 0, outputs = 0;
  for (std::size_t id = 0; id < nest_.buffers.size(); ++id) {
    const ir::Buffer& buffer = nest_.buffers[id];
    const bool border = buffer.scope == ir::Scope::kInput || buffer.scope == ir::Scope::kOutput;
    if (plan_.storage[id].is_register || (!used[id] && !border) || plan_.lies_in[id] >= 0) continue;
    flat::Buffer made{buffer.name, buffer.dtype, plan_.storage[id].size, flat::Scope::kGlobal, 0,
                      {}};
    const auto reserve = [&](flat::Scope scope, std::int64_t& area) {
      made.scope = scope;
      made.slot = area;
      area += (plan_.storage[id].size * size_of(buffer.dtype) + 63) / 64 * 64;
      const std::int64_t most =
          std::max(limits_.max_scratch_bytes, plan_.grids ? plan_.grids->scratch_bytes : 0);
      if (area > most)
        refuse(ErrorKind::kIllegalSchedule,
               "the scratch memory exceeds {} bytes at {}; compute the expression in parts, or "
               "less of it at a time",
               most, buffer.name);
    };
    switch (buffer.scope) {
      case ir::Scope::kInput: made.scope = flat::Scope::kInput, made.slot = inputs++; break;
      case ir::Scope::kOutput:
        if (plan_.grids && buffer.streaming)
          refuse(ErrorKind::kUnsupported,
                 "{} is stored past a processor's caches, which a device that runs grids does not "
                 "let a program do: leave the step \"stream\" out",
                 buffer.name);
        made.scope = flat::Scope::kOutput, made.slot = outputs++;
        break;
      case ir::Scope::kLiteral:
        made.scope = flat::Scope::kLiteral, made.literal = literal_of(buffer);
        break;
      case ir::Scope::kMemory:
        if (plan_.in_parallel(buffer.at)) reserve(flat::Scope::kThread, program_.thread_bytes);
        else if (plan_.prepared[id]) reserve(flat::Scope::kConstant, program_.constant_bytes);
        else reserve(flat::Scope::kGlobal, program_.global_bytes);
        break;
      case ir::Scope::kRegister: break;
      case ir::Scope::kGroup:
        check_grid_around(buffer);
        if (plan_.has_items(buffer.at)) place_in_group(static_cast<BufferId>(id), made);
        else reserve(flat::Scope::kThread, program_.thread_bytes);
        break;
      case ir::Scope::kLanes: break;
    }
    plan_.storage[id].buffer = static_cast<int>(program_.buffers.size());
    program_.buffers.push_back(std::move(made));
  }
  for (std::size_t id = 0; id < nest_.buffers.size(); ++id)
    if (const BufferId output = plan_.lies_in[id]; output >= 0)
      plan_.storage[id].buffer = plan_.storage[output].buffer;
}

}  // namespace lathe::lower
