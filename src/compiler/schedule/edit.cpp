#include "compiler/schedule/edit.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"

namespace lathe::schedule {

using ir::BlockId;
using ir::BufferId;
using ir::Item;
using ir::LoopId;
using ir::Nest;
using ir::SizeId;

std::unexpected<StepError> refuse(Refusal refusal, std::string_view subject) {
  return std::unexpected(StepError{refusal, -1, std::string(subject)});
}

StepResult<LoopId> loop_named(const Nest& nest, std::string_view name) {
  const LoopId loop = nest.find_loop(name);
  if (loop < 0) return refuse(Refusal::kNoSuchLoop, name);
  return loop;
}

StepResult<LoopId> place_named(const Nest& nest, std::string_view name) {
  if (name.empty()) return ir::kRoot;
  return loop_named(nest, name);
}

StepResult<BlockId> block_named(const Nest& nest, std::string_view name) {
  const BlockId block = nest.find_block(name);
  if (block < 0) return refuse(Refusal::kNoSuchBlock, name);
  return block;
}

StepResult<BufferId> buffer_named(const Nest& nest, std::string_view name) {
  const BufferId buffer = nest.find_buffer(name);
  if (buffer < 0) return refuse(Refusal::kNoSuchBuffer, name);
  return buffer;
}

StepResult<void> check_loop_name_free(const Nest& nest, std::string_view name) {
  if (name.empty() || nest.find_loop(name) >= 0) return refuse(Refusal::kNameTaken, name);
  return {};
}

StepResult<void> check_new_name(const Nest& nest, std::string_view name) {
  if (name.empty() || nest.find_block(name) >= 0 || nest.find_buffer(name) >= 0)
    return refuse(Refusal::kNameTaken, name);
  return {};
}

namespace {
constexpr std::int64_t kLargest = std::int64_t{1} << 40;  // beyond any memory
}  // namespace

StepResult<SizeId> resolve(Nest& nest, const Size& size, std::int64_t least,
                           std::string_view subject) {
  SizeId id;
  if (const auto* number = std::get_if<std::int64_t>(&size)) {
    if (*number > kLargest) return refuse(Refusal::kBadNumber, subject);
    if (*number < least)
      return refuse(least > 0 ? Refusal::kNotPositive : Refusal::kBadNumber, subject);
    id = nest.sizes.constant(*number);
  } else {
    id = std::get<SizeId>(size);
    if (static_cast<int>(id) < 0 || static_cast<int>(id) >= nest.sizes.count())
      return refuse(Refusal::kBadNumber, subject);
    if (nest.sizes.is_constant(id) && nest.sizes.constant_value(id) < least)
      return refuse(Refusal::kNotPositive, subject);
  }
  return id;
}

bool is_too_long(const ir::Sizes& sizes, SizeId outer, SizeId inner) {
  if (!sizes.is_constant(outer) || !sizes.is_constant(inner)) return false;
  std::int64_t product = 0;
  return __builtin_mul_overflow(sizes.constant_value(outer), sizes.constant_value(inner),
                                &product) ||
         product > kLargest;
}

bool is_tile_too_long(const ir::Sizes& sizes, SizeId extent, SizeId tile) {
  // Sizes of tiles are multiplied from knobs that go in steps, so they may well be beyond a loop.
  constexpr std::int64_t kLongestTile = 1 << 24, kBeyond = 8;
  return sizes.is_constant(extent) && sizes.is_constant(tile) &&
         sizes.constant_value(tile) > kLongestTile &&
         sizes.constant_value(tile) / kBeyond > sizes.constant_value(extent);
}

StepResult<std::vector<ir::LayoutDigit>> resolve_layout(Nest& nest,
                                                        const std::vector<LayoutItem>& items,
                                                        std::size_t dims, std::string_view subject,
                                                        bool any_order) {
  std::vector<ir::LayoutDigit> out;
  std::vector<SizeId> last(dims, SizeId::kNone);
  for (const LayoutItem& item : items) {
    if (item.dim < 0 || std::cmp_greater_equal(item.dim, dims))
      return refuse(Refusal::kBadLayout, subject);
    const auto weight = resolve(nest, item.weight, 1, subject);
    if (!weight) return refuse(Refusal::kBadLayout, subject);
    SizeId& above = last[static_cast<std::size_t>(item.dim)];
    // Where sizes are open, lowering checks this for each configuration.
    if (above != SizeId::kNone && nest.sizes.is_constant(above) &&
        nest.sizes.is_constant(*weight)) {
      const std::int64_t a = nest.sizes.constant_value(above),
                         b = nest.sizes.constant_value(*weight);
      if (a % b != 0 && !(any_order && b % a == 0)) return refuse(Refusal::kBadLayout, subject);
    }
    above = *weight;
    out.push_back({item.dim, *weight});
  }
  if (!items.empty() && !std::ranges::all_of(last, [&](SizeId w) {
        return w != SizeId::kNone && is_one(nest.sizes, w);
      }))
    return refuse(Refusal::kBadLayout, subject);
  return out;
}

void insert_child(Nest& nest, LoopId parent, Item child, int position) {
  std::vector<Item>& items = nest.children(parent);
  items.insert(position < 0 ? items.end() : items.begin() + position, child);
  nest.set_parent(child, parent);
}

StepResult<LoopId> add_loop(Nest& nest, std::string name, SizeId extent, LoopId parent,
                            int position) {
  if (auto is_free = check_loop_name_free(nest, name); !is_free)
    return std::unexpected(is_free.error());
  const auto id = static_cast<LoopId>(nest.loops.size());
  ir::Loop loop;
  loop.name = std::move(name);
  loop.extent = extent;
  nest.loops.push_back(std::move(loop));
  insert_child(nest, parent, {Item::Kind::kLoop, id}, position);
  return id;
}

void add_block(Nest& nest, ir::Block block, LoopId parent, int position) {
  const auto id = static_cast<BlockId>(nest.blocks.size());
  nest.blocks.push_back(std::move(block));
  insert_child(nest, parent, {Item::Kind::kBlock, id}, position);
}

bool depend(const Nest& nest, Item a, Item b) {
  const auto blocks_of = [&](Item item) {
    return item.kind == Item::Kind::kLoop ? nest.blocks_in(item.id) : std::vector<BlockId>{item.id};
  };
  for (const BlockId x : blocks_of(a))
    for (const BlockId y : blocks_of(b)) {
      const ir::Block &p = nest.blocks[x], &q = nest.blocks[y];
      if (p.writes == q.writes || analysis::reads(p, q.writes) || analysis::reads(q, p.writes))
        return true;
    }
  return false;
}

void detach_block(Nest& nest, BlockId block, LoopId keep) {
  Item child{Item::Kind::kBlock, block};
  for (const LoopId loop : analysis::own_loops(nest, block, keep)) {
    // The outermost of these loops is taken out.
    if (child.kind == Item::Kind::kBlock) child = {Item::Kind::kLoop, loop};
    nest.loops[loop].dead = true;
    nest.loops[loop].body.clear();
  }
  std::erase(nest.children(nest.parent_of(child)), child);
}

void remove_block(Nest& nest, BlockId block) {
  detach_block(nest, block);
  nest.blocks[block].dead = true;
}

StepResult<BlockId> reader_of_copy(const Nest& nest, BufferId buffer, const std::string& reader) {
  const BlockId id = LATHE_TRY(block_named(nest, reader));
  const ir::Block& block = nest.blocks[id];
  const std::string& name = nest.buffers[buffer].name;
  if (!analysis::reads(block, buffer)) return refuse(Refusal::kNotUsedThere, name);
  if (ir::looks_up(block.body, buffer)) return refuse(Refusal::kNotElementwise, name);
  if (is_tensorized(nest, block.parent)) return refuse(Refusal::kAlreadyBound, reader);
  if (nest.buffers[block.writes].cache_of == buffer) return refuse(Refusal::kNotAsWritten, reader);
  const int before = analysis::child_with(nest, ir::kRoot, id);
  for (const BlockId writer : analysis::writers_of(nest, buffer))
    if (analysis::child_with(nest, ir::kRoot, writer) >= before)
      return refuse(Refusal::kBreaksDependence, name);
  return id;
}

int place_of_copy(const Nest& nest, BufferId buffer, LoopId loop, BlockId reader) {
  if (loop != ir::kRoot) return analysis::child_with(nest, loop, reader);
  int position = 0;
  for (const BlockId writer : analysis::writers_of(nest, buffer))
    position = std::max(position, analysis::child_with(nest, loop, writer) + 1);
  return position;
}

void replace_child(Nest& nest, LoopId old_loop, LoopId new_loop) {
  const LoopId parent = nest.loops[old_loop].parent;
  for (Item& item : nest.children(parent))
    if (item.kind == Item::Kind::kLoop && item.id == old_loop) item.id = new_loop;
  nest.loops[new_loop].parent = parent;
}

void move_buffers(Nest& nest, LoopId from, LoopId to) {
  for (ir::Buffer& buffer : nest.buffers)
    if (buffer.at == from) buffer.at = to;
}

void redirect_reads(ir::Block& block, BufferId from, BufferId to, bool drop_pad) {
  block.body = ir::rewrite_leaves(block.body, [&](const ir::Expr& leaf) {
    const auto* read = std::get_if<ir::Read>(&leaf->value);
    if (!read || read->tensor != from) return leaf;
    return ir::read(to, read->index, leaf->dtype, drop_pad ? std::nullopt : read->pad);
  });
}

bool is_tensorized(const Nest& nest, LoopId loop) {
  return std::ranges::any_of(nest.path_to(loop), [&](LoopId l) {
    return nest.loops[l].intrinsic != ir::IntrinsicId::kNone;
  });
}

int plain_iter(const ir::Affine& row) {
  return row.terms.size() == 1 && row.terms[0].coef == 1 ? row.terms[0].iter : -1;
}

bool has_first_loops(const ir::Nest& nest, ir::BlockId id) {
  const ir::Block& block = nest.blocks[id];
  const auto own = analysis::own_loops(nest, id, ir::kRoot);
  if (own.size() != block.iters.size() || nest.loops_around(id).size() != own.size()) return false;
  return std::ranges::all_of(block.iters, [&](const ir::BlockIter& i) {
    return !i.guard && i.offset == ir::SizeId::kNone && i.digits.size() == 1 &&
           i.digits[0].div == ir::SizeId::kNone && i.digits[0].mod == ir::SizeId::kNone &&
           is_one(nest.sizes, i.digits[0].weight) && nest.sizes.is_constant(i.extent) &&
           nest.loops[i.digits[0].loop].extent == i.extent &&
           nest.loops[i.digits[0].loop].kind == ir::LoopKind::kSerial;
  });
}

}  // namespace lathe::schedule
