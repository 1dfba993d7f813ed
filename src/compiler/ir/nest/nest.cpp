#include "compiler/ir/nest/nest.h"

#include <algorithm>

namespace lathe::ir {
namespace {

template <class T>
int find_named(const std::vector<T>& items, std::string_view name) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if constexpr (requires { items[i].dead; })
      if (items[i].dead) continue;
    if (items[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

void collect_blocks(const Nest& nest, const std::vector<Item>& items, std::vector<BlockId>& out) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kBlock) out.push_back(item.id);
    else collect_blocks(nest, nest.loops[static_cast<std::size_t>(item.id)].body, out);
  }
}

}  // namespace

const char* name_of(LoopKind kind) {
  constexpr const char* kNames[] = {"serial",      "vectorize",   "unroll",     "parallel",
                                    "blockIdx.x",  "blockIdx.y",  "blockIdx.z", "threadIdx.x",
                                    "threadIdx.y", "threadIdx.z", "threadIdx"};
  static_assert(std::size(kNames) == kLoopKinds);
  return kNames[static_cast<int>(kind)];
}

const char* name_of(Tail tail) {
  constexpr const char* kNames[] = {"peel", "mask", "shift", "pad"};
  return kNames[static_cast<int>(tail)];
}

const char* name_of(Scope scope) {
  constexpr const char* kNames[] = {"input",    "output", "literal", "memory",
                                    "register", "group",  "lanes"};
  return kNames[static_cast<int>(scope)];
}

LoopId Nest::find_loop(std::string_view name) const { return find_named(loops, name); }
BlockId Nest::find_block(std::string_view name) const { return find_named(blocks, name); }
BufferId Nest::find_buffer(std::string_view name) const { return find_named(buffers, name); }

bool Nest::is_inside(Item item, LoopId ancestor) const {
  if (ancestor == kRoot) return true;
  if (item.kind == Item::Kind::kLoop && item.id == ancestor) return true;
  for (LoopId at = parent_of(item); at != kRoot; at = loops[at].parent)
    if (at == ancestor) return true;
  return false;
}

std::vector<LoopId> Nest::path_to(LoopId loop) const {
  std::vector<LoopId> path;
  for (LoopId at = loop; at != kRoot; at = loops[at].parent) path.push_back(at);
  std::ranges::reverse(path);
  return path;
}

std::vector<LoopId> Nest::loops_around(BlockId block) const {
  return path_to(blocks[block].parent);
}

std::vector<BlockId> Nest::blocks_in(LoopId loop) const {
  std::vector<BlockId> out;
  collect_blocks(*this, children(loop), out);
  return out;
}

BlockId Nest::writer_of(BufferId buffer) const {
  for (const BlockId id : blocks_in_order()) {
    const Block& block = blocks[id];
    if (block.writes != buffer) continue;
    if (!is_write_back(id)) return id;
    return writer_of(std::get<Read>(block.body->value).tensor);
  }
  return -1;
}

bool Nest::is_write_back(BlockId id) const {
  const Block& block = blocks[id];
  const auto* read = std::get_if<Read>(&block.body->value);
  return read && buffers[read->tensor].cache_of == block.writes && block.writes >= 0;
}

bool Nest::is_reduction_loop(BlockId id, LoopId loop) const {
  bool reduces = false;
  for (const BlockIter& iter : blocks[id].iters) {
    if (std::ranges::find(iter.digits, loop, &LoopDigit::loop) == iter.digits.end()) continue;
    if (iter.kind == IterKind::kSpatial) return false;
    reduces = true;
  }
  return reduces;
}

}  // namespace lathe::ir
