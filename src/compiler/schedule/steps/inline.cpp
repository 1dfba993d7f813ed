#include "compiler/schedule/steps/inline.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/new_stage.h"
#include "compiler/schedule/parts.h"

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

// A reduction becomes part of its reader, which reduces it further in the same way.
class JoinedReductions {
 public:
  JoinedReductions(ir::Nest& nest, BlockId inner) : nest_(nest), inner_(nest.blocks[inner]) {}

  StepResult<void> run() {
    const std::vector<BlockId> readers = analysis::readers_of(nest_, inner_.writes);
    if (readers.empty()) return refuse(Refusal::kNotUsedThere, inner_.name);
    outer_ = nest_.blocks[readers.front()];
    if (readers.size() != 1 || outer_.reduce != inner_.reduce ||
        ir::looks_up(outer_.body, inner_.writes))
      return refuse(Refusal::kIsAReduction, inner_.name);
    for (const ir::Block* block : {&inner_, &outer_}) {
      const BlockId id = nest_.find_block(block->name);
      if (!has_first_loops(nest_, id) || !analysis::can_be_placed_anew(nest_, id) ||
          analysis::writers_of(nest_, block->writes).size() != 1 || !is_plain(block->index))
        return refuse(Refusal::kNotAsWritten, block->name);
    }
    LATHE_TRY_STATUS(find_read());
    const int position = analysis::child_with(nest_, ir::kRoot, nest_.find_block(outer_.name));
    remove_block(nest_, nest_.find_block(outer_.name));
    LATHE_TRY_STATUS(make(position));
    remove_block(nest_, nest_.find_block(inner_.name));
    return {};
  }

 private:
  static bool is_plain(const std::vector<Affine>& index) {
    return std::ranges::all_of(
        index, [](const Affine& row) { return row.offset == 0 && plain_iter(row) >= 0; });
  }

  // The inner block's result must be a factor of what a sum adds up, or all that is reduced.
  StepResult<void> find_read() {
    std::vector<Expr> factors = {outer_.body};
    if (outer_.reduce == ir::ReduceOp::kSum) factors = factors_of(outer_.body);
    for (const Expr& factor : factors) {
      const auto* read = std::get_if<ir::Read>(&factor->value);
      if (read == nullptr || read->tensor != inner_.writes) others_.push_back(factor);
      else if (read_) return refuse(Refusal::kIsAReduction, inner_.name);
      else read_ = factor;
    }
    const auto is_inner = [&](const Expr& e) {
      return std::ranges::count(ir::tensors_of(e), inner_.writes) > 0;
    };
    const Dtype dtype = nest_.buffers[inner_.writes].dtype;
    if (!read_ || std::get<ir::Read>(read_->value).pad || std::ranges::any_of(others_, is_inner) ||
        dtype != inner_.body->dtype || dtype != outer_.body->dtype)
      return refuse(Refusal::kIsAReduction, inner_.name);
    return {};
  }

  StepResult<void> make(int position) {
    NewStage stage(nest_, outer_.name, position);
    std::vector<Expr> of_outer(outer_.iters.size(), ir::constant(0, Dtype::kI64));
    const auto add = [&](const ir::BlockIter& iter, const std::string& name) {
      return stage.add(name, nest_.sizes.constant_value(iter.extent), iter.kind);
    };
    const auto add_outer = [&](int i) -> StepResult<void> {
      const ir::BlockIter& iter = outer_.iters[static_cast<std::size_t>(i)];
      of_outer[static_cast<std::size_t>(i)] = ir::iter_value(LATHE_TRY(add(iter, iter.name)));
      return {};
    };
    for (const Affine& row : outer_.index) LATHE_TRY_STATUS(add_outer(plain_iter(row)));
    for (int i = 0; i < static_cast<int>(outer_.iters.size()); ++i)
      if (outer_.iters[static_cast<std::size_t>(i)].kind == ir::IterKind::kReduce)
        LATHE_TRY_STATUS(add_outer(i));
    std::vector<Expr> of_inner(inner_.iters.size(), ir::constant(0, Dtype::kI64));
    const std::vector<Affine>& index = std::get<ir::Read>(read_->value).index;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const auto at = ir::with_iterators(ir::value_of(index[d]), of_outer);
      if (!at) return refuse(Refusal::kNotElementwise, inner_.name);
      of_inner[static_cast<std::size_t>(plain_iter(inner_.index[d]))] = *at;
    }
    for (std::size_t i = 0; i < inner_.iters.size(); ++i)
      if (inner_.iters[i].kind == ir::IterKind::kReduce)
        of_inner[i] =
            ir::iter_value(LATHE_TRY(add(inner_.iters[i], free_name(inner_.iters[i].name))));
    return finish(stage, of_outer, of_inner);
  }

  StepResult<void> finish(NewStage& stage, const std::vector<Expr>& of_outer,
                          const std::vector<Expr>& of_inner) {
    std::vector<Expr> factors;
    for (const Expr& other : others_) {
      const auto moved = ir::with_iterators(other, of_outer);
      if (!moved) return refuse(Refusal::kNotElementwise, outer_.name);
      factors.push_back(*moved);
    }
    const auto moved = ir::with_iterators(inner_.body, of_inner);
    if (!moved) return refuse(Refusal::kNotElementwise, inner_.name);
    factors.push_back(*moved);
    stage.finish(outer_.writes, product_of(factors), outer_.reduce);
    return {};
  }

  // Of an iterator of the inner block in the outer one.
  std::string free_name(std::string name) const {
    while (std::ranges::count(outer_.iters, name, &ir::BlockIter::name) > 0) name += "_";
    return name;
  }

  ir::Nest& nest_;
  ir::Block inner_, outer_;
  Expr read_;                 // of the inner block's result
  std::vector<Expr> others_;  // factors
};

}  // namespace

std::string Inline::text() const { return "inline " + block; }

StepResult<void> apply_step(ir::Nest& nest, const Inline& step) {
  const BlockId id = LATHE_TRY(block_named(nest, step.block));
  const ir::Block block = nest.blocks[id];
  const ir::Buffer& buffer = nest.buffers[block.writes];
  if (buffer.scope == ir::Scope::kOutput) return refuse(Refusal::kIsOutput, step.block);
  if (block.reduce != ir::ReduceOp::kNone) return JoinedReductions(nest, id).run();
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
