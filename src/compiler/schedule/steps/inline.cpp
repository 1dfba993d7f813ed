#include "compiler/schedule/steps/inline.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::Expr;

// The value of a block's element at these places, expressions of i64 over the reader's iterators.
// Nothing where a condition that the block asks would not be affine any more.
std::optional<Expr> element_at(const ir::Block& block, const std::vector<Expr>& at) {
  std::vector<Expr> values(block.iters.size());
  for (Expr& value : values) value = ir::constant(0, Dtype::kI64);
  for (std::size_t d = 0; d < at.size(); ++d) {
    Expr& value = values[static_cast<std::size_t>(plain_iter(block.index[d]))];
    const std::int64_t before = block.index[d].offset;
    const ir::AffineAndRest parts = ir::affine_and_rest(at[d]);
    const Affine affine = parts.affine + Affine::constant(-before);
    if (!parts.rest) value = ir::value_of(affine);
    else if (before == 0) value = at[d];
    else
      value = ir::binary(ir::BinaryOp::kSub, at[d],
                         ir::constant(static_cast<double>(before), Dtype::kI64));
  }
  return ir::with_iterators(block.body, values);
}

std::vector<Expr> values_of(const std::vector<Affine>& rows) {
  std::vector<Expr> out;
  for (const Affine& row : rows) out.push_back(ir::value_of(row));
  return out;
}

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
  const auto value_at = [&](const std::vector<Expr>& at, const Expr& leaf) {
    const std::optional<Expr> value = element_at(block, at);
    if (!value) result = refuse(Refusal::kNotElementwise, block.name);
    return value ? ir::cast(ir::cast(*value, buffer.dtype), leaf->dtype) : leaf;
  };
  reader.body = ir::rewrite_leaves(reader.body, [&](const Expr& leaf) -> Expr {
    if (const auto* lookup = std::get_if<ir::Lookup>(&leaf->value);
        lookup != nullptr && lookup->tensor == block.writes && result) {
      // What is read instead would have to be asked for at places that are not affine.
      if (lookup->pad) result = refuse(Refusal::kPadNeedsOwnStorage, buffer.name);
      return result ? value_at(lookup->index, leaf) : leaf;
    }
    const auto* read = std::get_if<ir::Read>(&leaf->value);
    if (!read || read->tensor != block.writes || !result) return leaf;
    Expr value = value_at(values_of(read->index), leaf);
    if (!read->pad || !result) return value;
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
    for (const ir::BufferId read : ir::tensors_of(block.body))
      if (!nest.is_inside({ir::Item::Kind::kBlock, reader}, nest.buffers[read].at))
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
