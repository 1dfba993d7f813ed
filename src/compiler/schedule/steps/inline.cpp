#include "compiler/schedule/steps/inline.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::Expr;

// Puts in the block's body for the element `at`, affine in the reader's iterators.
class Substitution {
 public:
  Substitution(const ir::Block& block, const std::vector<Affine>& at)
      : of_iter_(block.iters.size()) {
    for (std::size_t d = 0; d < at.size(); ++d) {
      const auto iter = static_cast<std::size_t>(plain_iter(block.index[d]));
      of_iter_[iter] = at[d] + Affine::constant(-block.index[d].offset);
    }
    body_ = ir::rewrite_leaves(block.body, [&](const Expr& leaf) { return replaced(leaf); });
  }
  Expr body() const { return body_; }

 private:
  Expr replaced(const Expr& leaf) const {
    if (const auto* read = std::get_if<ir::Read>(&leaf->value)) {
      std::vector<Affine> index;
      for (const Affine& row : read->index) index.push_back(ir::substitute(row, of_iter_));
      return ir::read(read->tensor, std::move(index), leaf->dtype, read->pad);
    }
    if (const auto* range = std::get_if<ir::InRange>(&leaf->value)) {
      std::vector<ir::InRange::Row> rows = range->rows;
      for (ir::InRange::Row& row : rows) row.index = ir::substitute(row.index, of_iter_);
      return ir::in_range(std::move(rows));
    }
    return value_of(of_iter_[static_cast<std::size_t>(std::get<ir::IterValue>(leaf->value).iter)]);
  }

  static Expr value_of(const Affine& a) {
    Expr sum;
    const auto append = [&](Expr e) {
      sum = sum ? ir::binary(ir::BinaryOp::kAdd, sum, std::move(e)) : std::move(e);
    };
    for (const ir::AffineTerm& t : a.terms) {
      Expr term = ir::iter_value(t.iter);
      if (t.coef != 1)
        term = ir::binary(ir::BinaryOp::kMul, term,
                          ir::constant(static_cast<double>(t.coef), Dtype::kI64));
      append(std::move(term));
    }
    if (a.offset != 0 || !sum) append(ir::constant(static_cast<double>(a.offset), Dtype::kI64));
    return sum;
  }

  std::vector<Affine> of_iter_;
  Expr body_;
};

// The rows that may leave the tensor. Those that always stay inside need no test.
StepResult<std::vector<ir::InRange::Row>> border_tests(const ir::Nest& nest,
                                                       const ir::Block& reader,
                                                       const ir::Buffer& buffer,
                                                       const ir::Read& read) {
  std::vector<ir::InRange::Row> rows;
  const ir::Sizes& sizes = nest.sizes;
  for (std::size_t d = 0; d < read.index.size(); ++d) {
    const Affine& row = read.index[d];
    if (!sizes.is_constant(buffer.shape[d]))
      return refuse(Refusal::kPadNeedsOwnStorage, buffer.name);
    const std::int64_t size = sizes.constant_value(buffer.shape[d]);
    std::int64_t low = row.offset, high = row.offset;
    bool known = true;
    for (const ir::AffineTerm& t : row.terms) {
      const ir::SizeId extent = reader.iters[static_cast<std::size_t>(t.iter)].extent;
      known &= sizes.is_constant(extent);
      if (known) (t.coef < 0 ? low : high) += t.coef * (sizes.constant_value(extent) - 1);
    }
    if (!known || low < 0 || high >= size) rows.push_back({row, 0, size});
  }
  return rows;
}

StepResult<void> inline_into(ir::Nest& nest, const ir::Block& block, ir::Block& reader) {
  const ir::Buffer& buffer = nest.buffers[block.writes];
  StepResult<void> result;
  reader.body = ir::rewrite_leaves(reader.body, [&](const Expr& leaf) {
    const auto* read = std::get_if<ir::Read>(&leaf->value);
    if (!read || read->tensor != block.writes || !result) return leaf;
    Expr value =
        ir::cast(ir::cast(Substitution(block, read->index).body(), buffer.dtype), leaf->dtype);
    if (!read->pad) return value;
    auto rows = border_tests(nest, reader, buffer, *read);
    if (!rows) {
      result = std::unexpected(rows.error());
      return leaf;
    }
    if (rows->empty()) return value;
    return ir::select(ir::in_range(std::move(*rows)), value, ir::constant(*read->pad, leaf->dtype));
  });
  return result;
}

}  // namespace

std::string Inline::text() const { return "inline " + block; }

StepResult<void> apply_step(ir::Nest& nest, const Inline& step) {
  const BlockId id = LATHE_TRY(block_named(nest, step.block));
  const ir::Block block = nest.blocks[id];
  const ir::Buffer& buffer = nest.buffers[block.writes];
  if (buffer.scope == ir::Scope::kOutput) return refuse(Refusal::kIsOutput, step.block);
  if (block.reduce != ir::ReduceOp::kNone) return refuse(Refusal::kIsAReduction, step.block);
  if (analysis::writers_of(nest, block.writes).size() != 1 || nest.is_write_back(id) ||
      !analysis::can_be_placed_anew(nest, id))
    return refuse(Refusal::kNotElementwise, step.block);
  std::vector<int> iters;
  for (const Affine& row : block.index) iters.push_back(plain_iter(row));
  for (const int iter : iters)
    if (iter < 0 || std::ranges::count(iters, iter) != 1)
      return refuse(Refusal::kNotElementwise, step.block);
  const auto own = analysis::own_loops(nest, id, ir::kRoot);
  const bool alone = own.empty() ? block.iters.empty()
                                 : nest.loops[own.front()].parent == ir::kRoot ||
                                       nest.loops[own.front()].parent == buffer.at;
  if (!alone) return refuse(Refusal::kNotNested, step.block);
  const std::vector<BlockId> readers = analysis::readers_of(nest, block.writes);
  if (readers.empty()) return refuse(Refusal::kNotUsedThere, step.block);
  for (const BlockId reader : readers) {
    for (const ir::Read* read : ir::reads_of(block.body))
      if (!nest.is_inside({ir::Item::Kind::kBlock, reader}, nest.buffers[read->tensor].at))
        return refuse(Refusal::kBreaksDependence, step.block);
    // A cache of the result is now computed, not copied, unless the result was a copy itself.
    ir::Buffer& written = nest.buffers[nest.blocks[reader].writes];
    if (written.cache_of == block.writes) written.cache_of = buffer.cache_of;
    if (auto done = inline_into(nest, block, nest.blocks[reader]); !done) return done;
  }
  for (ir::Loop& loop : nest.loops)
    std::erase_if(loop.prefetch, [&](const ir::Prefetch& p) { return p.buffer == block.writes; });
  remove_block(nest, id);
  return {};
}

}  // namespace lathe::schedule
