#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ir/nest/nest.h"

namespace lathe::ir {
namespace {

template <class... Args>
Status broken(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorKind::kInternal, format, std::forward<Args>(args)...);
}

class Verifier {
 public:
  explicit Verifier(const Nest& nest)
      : nest_(nest), loop_seen_(nest.loops.size()), block_seen_(nest.blocks.size()) {}

  Status run() {
    LATHE_TRY_STATUS(children(kRoot));
    for (std::size_t i = 0; i < nest_.loops.size(); ++i)
      if (loop_seen_[i] == nest_.loops[i].dead)
        return broken("loop {} is {} the tree", nest_.loops[i].name,
                      loop_seen_[i] ? "dead but in" : "not in");
    for (std::size_t i = 0; i < nest_.blocks.size(); ++i)
      if (block_seen_[i] == nest_.blocks[i].dead)
        return broken("block {} is {} the tree", nest_.blocks[i].name,
                      block_seen_[i] ? "dead but in" : "not in");
    LATHE_TRY_STATUS(names_unique());
    for (const Buffer& buffer : nest_.buffers) LATHE_TRY_STATUS(check(buffer));
    for (const BlockId id : nest_.blocks_in_order()) LATHE_TRY_STATUS(check(id));
    return {};
  }

 private:
  Status children(LoopId parent) {
    for (const Item& item : nest_.children(parent)) {
      const bool is_loop = item.kind == Item::Kind::kLoop;
      auto& seen = is_loop ? loop_seen_ : block_seen_;
      if (item.id < 0 || std::cmp_greater_equal(item.id, seen.size()))
        return broken("child {} does not exist", item.id);
      if (seen[item.id])
        return broken("{} {} is in the tree twice", is_loop ? "loop" : "block", item.id);
      seen[item.id] = true;
      if (nest_.parent_of(item) != parent)
        return broken("{} {} has another parent", is_loop ? "loop" : "block", item.id);
      if (!is_loop) continue;
      const Loop& loop = nest_.loops[item.id];
      LATHE_TRY_STATUS(size(loop.extent, loop.name));
      if (loop.body.empty()) return broken("loop {} is empty", loop.name);
      for (const Prefetch& p : loop.prefetch) {
        if (!is_buffer(p.buffer))
          return broken("loop {} prefetches buffer {}, which does not exist", loop.name, p.buffer);
        LATHE_TRY_STATUS(size(p.bytes, loop.name));
      }
      LATHE_TRY_STATUS(children(item.id));
    }
    return {};
  }

  template <class T>
  static Status unique(const std::vector<T>& items, const char* what) {
    std::set<std::string_view> names;
    for (const T& item : items) {
      if constexpr (requires { item.dead; })
        if (item.dead) continue;
      if (!names.insert(item.name).second) return broken("two {}s are named {}", what, item.name);
    }
    return {};
  }
  Status names_unique() const {
    LATHE_TRY_STATUS(unique(nest_.loops, "loop"));
    LATHE_TRY_STATUS(unique(nest_.blocks, "block"));
    return unique(nest_.buffers, "buffer");
  }

  bool is_buffer(BufferId id) const { return id >= 0 && std::cmp_less(id, nest_.buffers.size()); }
  Status size(SizeId id, const std::string& where) const {
    if (static_cast<int>(id) < 0 || static_cast<int>(id) >= nest_.sizes.count())
      return broken("{} has a size that is not in the table", where);
    return {};
  }
  Status optional_size(SizeId id, const std::string& where) const {
    return id == SizeId::kNone ? Status{} : size(id, where);
  }

  Status check(const Buffer& buffer) const {
    for (const SizeId extent : buffer.shape) LATHE_TRY_STATUS(size(extent, buffer.name));
    if (buffer.at != kRoot &&
        (std::cmp_greater_equal(buffer.at, nest_.loops.size()) || nest_.loops[buffer.at].dead))
      return broken("buffer {} lives at a loop that does not exist", buffer.name);
    if (buffer.streaming && buffer.scope != Scope::kOutput)
      return broken("buffer {} goes past the caches but is no output", buffer.name);
    if (buffer.cache_of >= 0 && !is_buffer(buffer.cache_of))
      return broken("buffer {} caches nothing", buffer.name);
    std::vector<bool> ends(buffer.shape.size());
    for (const LayoutDigit& digit : buffer.layout) {
      if (digit.dim < 0 || std::cmp_greater_equal(digit.dim, ends.size()))
        return broken("the layout of {} names dimension {}", buffer.name, digit.dim);
      LATHE_TRY_STATUS(size(digit.weight, buffer.name));
      ends[digit.dim] =
          nest_.sizes.is_constant(digit.weight) && nest_.sizes.constant_value(digit.weight) == 1;
    }
    if (!buffer.layout.empty() && std::ranges::find(ends, false) != ends.end())
      return broken("the layout of {} does not end every dimension with weight 1", buffer.name);
    return {};
  }

  Status check(BlockId id) const {
    const Block& block = nest_.blocks[id];
    for (const BlockIter& iter : block.iters) LATHE_TRY_STATUS(check(iter, id));
    LATHE_TRY_STATUS(access(id, block.writes, block.index));
    for (const Read* read : reads_of(block.body))
      LATHE_TRY_STATUS(access(id, read->tensor, read->index));
    for (const Lookup* lookup : lookups_of(block.body)) {
      // The indices are checked leaf by leaf.
      const std::vector<Affine> nowhere(lookup->index.size());
      LATHE_TRY_STATUS(access(id, lookup->tensor, nowhere));
    }
    Status leaves;
    rewrite_leaves(block.body, [&](const Expr& leaf) {
      if (const auto* value = std::get_if<IterValue>(&leaf->value))
        if (!is_plain_iter(block, value->iter))
          leaves = broken("block {} uses a missing iterator", block.name);
      if (const auto* range = std::get_if<InRange>(&leaf->value))
        for (const InRange::Row& row : range->rows)
          if (!is_affine(block, row.index))
            leaves = broken("block {} tests a missing iterator", block.name);
      return leaf;
    });
    return leaves;
  }

  Status check(const BlockIter& iter, BlockId id) const {
    const Block& block = nest_.blocks[id];
    const std::string where = block.name + "." + iter.name;
    LATHE_TRY_STATUS(size(iter.extent, where));
    LATHE_TRY_STATUS(optional_size(iter.offset, where));
    if (iter.kind == IterKind::kReduce && block.reduce == ReduceOp::kNone)
      return broken("{} reduces but its block does not", where);
    for (const LoopDigit& digit : iter.digits) {
      if (digit.loop < 0 || std::cmp_greater_equal(digit.loop, nest_.loops.size()) ||
          nest_.loops[digit.loop].dead || !nest_.is_inside({Item::Kind::kBlock, id}, digit.loop))
        return broken("{} has a digit of a loop that is not around it", where);
      LATHE_TRY_STATUS(size(digit.weight, where));
      LATHE_TRY_STATUS(optional_size(digit.div, where));
      LATHE_TRY_STATUS(optional_size(digit.mod, where));
    }
    return {};
  }

  Status access(BlockId id, BufferId buffer, const std::vector<Affine>& index) const {
    const Block& block = nest_.blocks[id];
    if (!is_buffer(buffer))
      return broken("block {} touches a buffer that does not exist", block.name);
    const Buffer& b = nest_.buffers[buffer];
    if (index.size() != b.shape.size())
      return broken("block {} indexes {} with {} rows, it has {}", block.name, b.name, index.size(),
                    b.shape.size());
    for (const Affine& row : index)
      if (!is_affine(block, row))
        return broken("block {} indexes {} by a missing iterator", block.name, b.name);
    if (!nest_.is_inside({Item::Kind::kBlock, id}, b.at))
      return broken("block {} touches {} outside the loop it lives at", block.name, b.name);
    return {};
  }

  static bool is_plain_iter(const Block& block, int iter) {
    return iter >= 0 && std::cmp_less(iter, block.iters.size()) && !block.iters[iter].guard;
  }
  static bool is_affine(const Block& block, const Affine& row) {
    return std::ranges::all_of(row.terms,
                               [&](const AffineTerm& t) { return is_plain_iter(block, t.iter); });
  }

  const Nest& nest_;
  std::vector<bool> loop_seen_, block_seen_;
};

}  // namespace

Status verify(const Nest& nest) { return Verifier(nest).run(); }

}  // namespace lathe::ir
