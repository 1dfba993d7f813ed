#include "compiler/schedule/steps/merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::BufferId;
using ir::Expr;
using ir::LoopId;
using ir::Nest;

struct Pair {  // of iterators of a block that become one
  int outer, inner;
  friend bool operator==(const Pair&, const Pair&) = default;
};

// Finds which iterators and dimensions become one with a given pair, and makes them so.
class Merger {
 public:
  Merger(Nest& nest, std::string subject) : nest_(nest), subject_(std::move(subject)) {}

  StepResult<void> run(BlockId block, Pair pair) {
    LATHE_TRY_STATUS(add(block, pair));
    LATHE_TRY_STATUS(follow_all());
    for (const auto& [access, dims] : found_.summed) sum_rows(access.first, access.second, dims);
    for (const auto& [id, dims] : found_.dims) merge_dims(id, dims);
    for (auto& [id, pairs] : found_.pairs)
      while (!pairs.empty()) LATHE_TRY_STATUS(merge_iters(id, pairs));
    return {};
  }

 private:
  struct Found {
    std::map<BlockId, std::vector<Pair>> pairs;
    std::map<BufferId, std::set<int>> dims;  // the first of two that become one
    std::vector<std::pair<BlockId, Pair>> open;
    // Dimensions of the buffer through which the block goes on walking by two iterators.
    std::map<std::pair<BlockId, BufferId>, std::set<int>> summed;
  };

  StepResult<void> follow_all() {
    while (!found_.open.empty()) {
      const auto [id, next] = found_.open.back();
      found_.open.pop_back();
      LATHE_TRY_STATUS(follow(id, next));
    }
    return {};
  }

  std::unexpected<StepError> no() const { return refuse(Refusal::kNotOneAxis, subject_); }

  // The value of an iterator that runs over one number only is 0, wherever it appears.
  Affine without_units(BlockId id, const Affine& row) const {
    Affine out = row;
    std::erase_if(out.terms, [&](const ir::AffineTerm& term) {
      return is_one(nest_.sizes,
                    nest_.blocks[id].iters[static_cast<std::size_t>(term.iter)].extent);
    });
    return out;
  }
  std::vector<Affine> rows_of(BlockId id, const std::vector<Affine>& index) const {
    std::vector<Affine> out;
    for (const Affine& row : index) out.push_back(without_units(id, row));
    return out;
  }

  StepResult<void> add(BlockId id, Pair pair) {
    auto& pairs = found_.pairs[id];
    for (const Pair& other : pairs) {
      if (other == pair) return {};
      if (other.outer == pair.outer || other.inner == pair.inner || other.outer == pair.inner ||
          other.inner == pair.outer)
        return no();
    }
    LATHE_TRY_STATUS(check(id, pair));
    for (const auto& [access, dims] : found_.summed)
      for (const int d : dims)
        if (access.first == id &&
            (moves(id, access.second, d, pair.outer) || moves(id, access.second, d, pair.inner)))
          return no();
    pairs.push_back(pair);
    found_.open.emplace_back(id, pair);
    return {};
  }

  // Both are whole loops of this block alone, of more than one iteration, and only accesses know
  // their values.
  StepResult<void> check(BlockId id, Pair pair) const {
    const ir::Block& block = nest_.blocks[id];
    for (const int i : {pair.outer, pair.inner}) {
      const ir::BlockIter& iter = block.iters[static_cast<std::size_t>(i)];
      if (iter.guard || is_one(nest_.sizes, iter.extent) || iter.offset != ir::SizeId::kNone ||
          iter.digits.size() != 1 || !nest_.sizes.is_constant(iter.extent))
        return no();
      const ir::LoopDigit& digit = iter.digits[0];
      const ir::Loop& loop = nest_.loops[digit.loop];
      if (digit.div != ir::SizeId::kNone || digit.mod != ir::SizeId::kNone ||
          !is_one(nest_.sizes, digit.weight) || loop.extent != iter.extent ||
          loop.kind != ir::LoopKind::kSerial || !loop.prefetch.empty() ||
          is_tensorized(nest_, digit.loop) ||
          nest_.blocks_in(digit.loop) != std::vector<BlockId>{id} || holds_a_buffer(digit.loop) ||
          users_of(block, digit.loop) != 1)
        return no();
    }
    bool known = false;
    ir::for_each_node(block.body, [&](const Expr& e) {
      if (const auto* value = std::get_if<ir::IterValue>(&e->value))
        known |= value->iter == pair.outer || value->iter == pair.inner;
      if (const auto* range = std::get_if<ir::InRange>(&e->value))
        for (const ir::InRange::Row& row : range->rows)
          known |= row.index.coef_of(pair.outer) != 0 || row.index.coef_of(pair.inner) != 0;
    });
    if (known) return no();
    return {};
  }
  // How many iterators of a block a loop moves.
  static std::ptrdiff_t users_of(const ir::Block& block, LoopId loop) {
    return std::ranges::count_if(block.iters, [&](const ir::BlockIter& iter) {
      return std::ranges::any_of(iter.digits,
                                 [&](const ir::LoopDigit& digit) { return digit.loop == loop; });
    });
  }
  bool holds_a_buffer(LoopId loop) const {
    return std::ranges::any_of(nest_.buffers, [&](const ir::Buffer& b) { return b.at == loop; });
  }

  // The dimensions that the pair goes through in each access of its block.
  StepResult<void> follow(BlockId id, Pair pair) {
    const ir::Block& block = nest_.blocks[id];
    LATHE_TRY_STATUS(follow_access(id, pair, block.writes, block.index));
    for (const ir::Read* read : ir::reads_of(block.body))
      LATHE_TRY_STATUS(follow_access(id, pair, read->tensor, read->index));
    return {};
  }

  StepResult<void> follow_access(BlockId id, Pair pair, BufferId buffer,
                                 const std::vector<Affine>& index) {
    const std::vector<Affine> rows = rows_of(id, index);
    const auto touching = std::ranges::count_if(rows, [&](const Affine& row) {
      return row.coef_of(pair.outer) != 0 || row.coef_of(pair.inner) != 0;
    });
    if (touching == 0) return {};
    const auto found = std::ranges::find(rows, Affine::iter(pair.outer));
    const auto d = static_cast<std::size_t>(found - rows.begin());
    if (touching != 2 || d + 1 >= rows.size() || rows[d + 1] != Affine::iter(pair.inner))
      return no();
    return add_dim(buffer, static_cast<int>(d));
  }

  // Dimensions d and d + 1 of the buffer become one: so do the iterators of all who access it.
  StepResult<void> add_dim(BufferId id, int d) {
    auto& dims = found_.dims[id];
    if (dims.contains(d)) return {};
    const ir::Buffer& buffer = nest_.buffers[id];
    if (analysis::is_looked_up(nest_, id)) return no();
    if (dims.contains(d - 1) || dims.contains(d + 1) || !buffer.layout.empty() ||
        buffer.pad_stride != 0 || buffer.at != ir::kRoot || buffer.cache_of >= 0 ||
        !nest_.sizes.is_constant(buffer.shape[static_cast<std::size_t>(d)]) ||
        !nest_.sizes.is_constant(buffer.shape[static_cast<std::size_t>(d) + 1]))
      return no();
    dims.insert(d);
    for (const BlockId block : nest_.blocks_in_order()) {
      if (nest_.blocks[block].writes == id)
        LATHE_TRY_STATUS(add_access(block, id, d, nest_.blocks[block].index));
      for (const ir::Read* read : ir::reads_of(nest_.blocks[block].body))
        if (read->tensor == id) LATHE_TRY_STATUS(add_access(block, id, d, read->index));
    }
    return {};
  }

  // Iterators of the block become one as well, if everything else that follows from it can. A copy
  // may keep its own two, which then move the one dimension together.
  StepResult<void> add_access(BlockId block, BufferId buffer, int d,
                              const std::vector<Affine>& index) {
    const Found before = found_;
    const StepResult<void> both = add_both(block, buffer, d, index);
    if (both && (!is_copy(block) || follow_all())) return {};
    if (!is_copy(block)) return both;
    found_ = before;
    for (const Pair& pair : found_.pairs[block])
      if (moves(block, buffer, d, pair.outer) || moves(block, buffer, d, pair.inner)) return both;
    found_.summed[{block, buffer}].insert(d);
    return {};
  }

  StepResult<void> add_both(BlockId block, BufferId buffer, int d,
                            const std::vector<Affine>& index) {
    const auto at = static_cast<std::size_t>(d);
    const int outer = plain_iter(without_units(block, index[at])),
              inner = plain_iter(without_units(block, index[at + 1]));
    if (outer < 0 || inner < 0 || outer == inner) return no();
    const ir::SizeId extent = nest_.blocks[block].iters[static_cast<std::size_t>(inner)].extent;
    const ir::SizeId size = nest_.buffers[buffer].shape[at + 1];
    if (!nest_.sizes.is_constant(extent) ||
        nest_.sizes.constant_value(extent) != nest_.sizes.constant_value(size))
      return no();
    return add(block, {outer, inner});
  }

  // True if the iterator of a copy moves it along dimension d of the buffer, or the next one.
  bool moves(BlockId id, BufferId buffer, int d, int iter) const {
    const ir::Block& block = nest_.blocks[id];
    const auto& index =
        block.writes == buffer ? block.index : std::get<ir::Read>(block.body->value).index;
    const auto at = static_cast<std::size_t>(d);
    return index[at].coef_of(iter) != 0 || index[at + 1].coef_of(iter) != 0;
  }

  // True if the block only brings a tensor into another order.
  bool is_copy(BlockId id) const {
    const ir::Block& block = nest_.blocks[id];
    const auto* read = std::get_if<ir::Read>(&block.body->value);
    return block.reduce == ir::ReduceOp::kNone && read != nullptr && !read->pad &&
           read->tensor != block.writes;
  }

  // The rows of each two dimensions that become one, as a sum.
  std::vector<Affine> summed(const std::vector<Affine>& index, BufferId buffer,
                             const std::set<int>& dims) const {
    std::vector<Affine> rows = index;
    for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
      const auto at = static_cast<std::size_t>(*d);
      const ir::SizeId size = nest_.buffers[buffer].shape[at + 1];
      rows[at] = rows[at] * nest_.sizes.constant_value(size) + rows[at + 1];
      rows.erase(rows.begin() + *d + 1);
    }
    return rows;
  }

  void sum_rows(BlockId id, BufferId buffer, const std::set<int>& dims) {
    ir::Block& block = nest_.blocks[id];
    if (block.writes == buffer) block.index = summed(block.index, buffer, dims);
    block.body = ir::rewrite_leaves(block.body, [&](const Expr& leaf) -> Expr {
      const auto* read = std::get_if<ir::Read>(&leaf->value);
      if (read == nullptr || read->tensor != buffer) return leaf;
      return ir::read(buffer, summed(read->index, buffer, dims), leaf->dtype);
    });
  }

  void merge_dims(BufferId id, const std::set<int>& dims) {
    auto& shape = nest_.buffers[id].shape;
    for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
      const auto at = static_cast<std::size_t>(*d);
      shape[at] = nest_.sizes.mul(shape[at], shape[at + 1]);
      shape.erase(shape.begin() + *d + 1);
    }
  }

  StepResult<void> merge_iters(BlockId id, std::vector<Pair>& pairs) {
    const Pair pair = pairs.back();
    pairs.pop_back();
    for (Pair& other : pairs)
      for (int* i : {&other.outer, &other.inner}) *i -= *i > pair.inner ? 1 : 0;
    LATHE_TRY_STATUS(merge_loops(id, pair));
    ir::Block& block = nest_.blocks[id];
    std::vector<Affine> anew;
    for (int i = 0; i < static_cast<int>(block.iters.size()); ++i)
      anew.push_back(i == pair.inner ? Affine::constant(0)
                                     : Affine::iter(i > pair.inner ? i - 1 : i));
    const auto renumbered = [&](const std::vector<Affine>& index) {
      std::vector<Affine> rows;
      for (const Affine& row : index) {
        const Affine plain = without_units(id, row);
        if (plain == Affine::iter(pair.inner)) continue;
        rows.push_back(ir::substitute(plain == Affine::iter(pair.outer) ? plain : row, anew));
      }
      return rows;
    };
    block.index = renumbered(block.index);
    block.body = ir::rewrite_leaves(block.body, [&](const Expr& leaf) -> Expr {
      if (const auto* read = std::get_if<ir::Read>(&leaf->value))
        return ir::read(read->tensor, renumbered(read->index), leaf->dtype, read->pad);
      if (const auto* range = std::get_if<ir::InRange>(&leaf->value)) {
        std::vector<ir::InRange::Row> rows = range->rows;
        for (ir::InRange::Row& row : rows) row.index = ir::substitute(row.index, anew);
        return ir::in_range(std::move(rows));
      }
      if (const auto* value = std::get_if<ir::IterValue>(&leaf->value))
        return ir::iter_value(value->iter - (value->iter > pair.inner ? 1 : 0));
      return leaf;
    });
    block.iters.erase(block.iters.begin() + pair.inner);
    return {};
  }

  // The outer loop runs over both, and the inner one goes.
  StepResult<void> merge_loops(BlockId id, Pair pair) {
    ir::BlockIter& outer = nest_.blocks[id].iters[static_cast<std::size_t>(pair.outer)];
    const ir::BlockIter& inner = nest_.blocks[id].iters[static_cast<std::size_t>(pair.inner)];
    const LoopId kept = outer.digits[0].loop, gone = inner.digits[0].loop;
    const std::string name = fmt::format("{}.{}{}", nest_.blocks[id].name, outer.name, inner.name);
    LATHE_TRY_STATUS(check_loop_name_free(nest_, name));
    outer.name += inner.name;
    outer.extent = nest_.sizes.mul(outer.extent, inner.extent);
    nest_.loops[kept].name = name;
    nest_.loops[kept].extent = outer.extent;
    const ir::Loop removed = nest_.loops[gone];
    auto& siblings = nest_.children(removed.parent);
    const auto place = std::ranges::find(siblings, ir::Item{ir::Item::Kind::kLoop, gone});
    const auto at = siblings.erase(place);
    siblings.insert(at, removed.body.begin(), removed.body.end());
    for (const ir::Item& item : removed.body) nest_.set_parent(item, removed.parent);
    nest_.loops[gone].dead = true;
    nest_.loops[gone].body.clear();
    return {};
  }

  Nest& nest_;
  std::string subject_;
  Found found_;
};

int iter_of(const ir::Block& block, LoopId loop) {
  for (int i = 0; i < static_cast<int>(block.iters.size()); ++i) {
    const auto& digits = block.iters[static_cast<std::size_t>(i)].digits;
    if (digits.size() == 1 && digits[0].loop == loop) return i;
  }
  return -1;
}

StepResult<std::string> merge_pair(Nest& nest, const std::string& outer, const std::string& inner) {
  const std::string subject = fmt::format("{} and {}", outer, inner);
  const LoopId first = LATHE_TRY(loop_named(nest, outer)),
               second = LATHE_TRY(loop_named(nest, inner));
  const std::vector<BlockId> blocks = nest.blocks_in(second);
  if (blocks.size() != 1 || first == second) return refuse(Refusal::kNotOneAxis, subject);
  const ir::Block& block = nest.blocks[blocks[0]];
  const Pair pair{iter_of(block, first), iter_of(block, second)};
  if (pair.outer < 0 || pair.inner < 0) return refuse(Refusal::kNotOneAxis, subject);
  std::string name =
      fmt::format("{}.{}{}", block.name, block.iters[static_cast<std::size_t>(pair.outer)].name,
                  block.iters[static_cast<std::size_t>(pair.inner)].name);
  LATHE_TRY_STATUS(Merger(nest, subject).run(blocks[0], pair));
  return name;
}

}  // namespace

std::string Merge::text() const { return fmt::format("merge {}", fmt::join(loops, ", ")); }

StepResult<void> apply_step(ir::Nest& nest, const Merge& step, bool free_layout) {
  if (step.loops.size() < 2) return refuse(Refusal::kTooFewLoops, "merge");
  if (free_layout) return refuse(Refusal::kFreeBorder, step.loops[0]);
  std::string merged = step.loops[0];
  for (std::size_t i = 1; i < step.loops.size(); ++i)
    merged = LATHE_TRY(merge_pair(nest, merged, step.loops[i]));
  return {};
}

}  // namespace lathe::schedule
