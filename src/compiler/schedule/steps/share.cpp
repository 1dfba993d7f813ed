#include "compiler/schedule/steps/share.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/new_stage.h"
#include "compiler/schedule/parts.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::Expr;
using ir::IterKind;

class Sharing {
 public:
  Sharing(ir::Nest& nest, const Share& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    const BlockId other = LATHE_TRY(block_named(nest_, step_.from));
    if (id == other) return refuse(Refusal::kNamedTwice, step_.block);
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    if (!has_first_loops(nest_, other)) return refuse(Refusal::kNotAsWritten, step_.from);
    const int position = analysis::child_with(nest_, ir::kRoot, id);
    if (position < analysis::child_with(nest_, ir::kRoot, other))
      return refuse(Refusal::kBreaksDependence, step_.block);
    block_ = nest_.blocks[static_cast<std::size_t>(id)];
    other_ = nest_.blocks[static_cast<std::size_t>(other)];
    for (const Affine& row : other_.index)
      if (row.offset != 0 || plain_iter(row) < 0) return refuse(Refusal::kNotAsWritten, step_.from);
    if (other_.reduce != ir::ReduceOp::kNone) return copy_reduction(id, position);
    if (other_.iters.size() != other_.index.size() ||
        std::ranges::count(ir::tensors_of(other_.body), other_.writes) > 0)
      return refuse(Refusal::kNotElementwise, step_.from);
    bool found = false;
    Expr body = shared(block_.body, found);
    if (!found) return refuse(Refusal::kNotElementwise, step_.block);
    nest_.blocks[static_cast<std::size_t>(id)].body = std::move(body);
    return {};
  }

 private:
  std::int64_t extent(const ir::BlockIter& iter) const {
    return nest_.sizes.constant_value(iter.extent);
  }
  Dtype dtype_of(const ir::Block& block) const {
    return nest_.buffers[static_cast<std::size_t>(block.writes)].dtype;
  }

  // The block becomes a copy of the other's result.
  StepResult<void> copy_reduction(BlockId id, int position) {
    const auto alike = [&](const ir::BlockIter& a, const ir::BlockIter& b) {
      return a.kind == b.kind && extent(a) == extent(b);
    };
    if (block_.reduce != other_.reduce || block_.index != other_.index ||
        dtype_of(block_) != dtype_of(other_) || !ir::equal(block_.body, other_.body) ||
        !std::ranges::equal(block_.iters, other_.iters, alike))
      return refuse(Refusal::kNotAReduction, step_.block);
    remove_block(nest_, id);
    NewStage stage(nest_, block_.name, position);
    std::vector<Affine> index;
    for (const Affine& row : block_.index) {
      const ir::BlockIter& iter = block_.iters[static_cast<std::size_t>(plain_iter(row))];
      index.push_back(Affine::iter(LATHE_TRY(stage.add(iter.name, extent(iter)))));
    }
    stage.finish_map(block_.writes, ir::read(other_.writes, std::move(index), dtype_of(other_)));
    return {};
  }

  // The expression with reads of the other's result wherever it has what that computes.
  Expr shared(const Expr& e, bool& found) const {
    for (const Expr& inside : subexpressions(e)) {
      auto index = place_of(inside);
      if (!index) continue;
      found = true;
      return shared(replaced(e, inside, ir::read(other_.writes, std::move(*index), e_type())),
                    found);
    }
    return e;
  }
  Dtype e_type() const { return other_.body->dtype; }

  // Where the other has computed e; nothing if it has not.
  std::optional<std::vector<Affine>> place_of(const Expr& e) const {
    if (e->dtype != other_.body->dtype || dtype_of(other_) != e->dtype) return std::nullopt;
    std::vector<std::optional<Affine>> of_iter(other_.iters.size());
    if (!bind(other_.body, e, of_iter)) return std::nullopt;
    std::vector<Expr> values;
    for (std::size_t i = 0; i < of_iter.size(); ++i) {
      if (!of_iter[i] || !stays_inside(*of_iter[i], extent(other_.iters[i]))) return std::nullopt;
      values.push_back(ir::value_of(*of_iter[i]));
    }
    const auto moved = ir::with_iterators(other_.body, values);
    if (!moved || !ir::equal(*moved, e)) return std::nullopt;
    std::vector<Affine> index;
    for (const Affine& row : other_.index)
      index.push_back(*of_iter[static_cast<std::size_t>(plain_iter(row))]);
    return index;
  }
  bool stays_inside(const Affine& row, std::int64_t size) const {
    std::int64_t low = row.offset, high = row.offset;
    for (const ir::AffineTerm& term : row.terms)
      (term.coef < 0 ? low : high) +=
          term.coef * (extent(block_.iters[static_cast<std::size_t>(term.iter)]) - 1);
    return low >= 0 && high < size;
  }

  // Finds what iterators of the pattern stand for where it is e. False if it cannot be.
  static bool bind(const Expr& pattern, const Expr& e, std::vector<std::optional<Affine>>& out) {
    const auto a = subexpressions(pattern), b = subexpressions(e);
    if (a.size() != b.size()) return false;
    for (std::size_t n = 0; n < a.size(); ++n) {
      if (a[n]->value.index() != b[n]->value.index() || a[n]->dtype != b[n]->dtype) return false;
      if (const auto* own = std::get_if<ir::IterValue>(&a[n]->value)) {
        const auto& value = std::get<ir::IterValue>(b[n]->value);
        out[static_cast<std::size_t>(own->iter)] = Affine::iter(value.iter);
      }
      const auto* read = std::get_if<ir::Read>(&a[n]->value);
      if (read == nullptr) continue;
      const auto& other = std::get<ir::Read>(b[n]->value);
      if (read->tensor != other.tensor) return false;
      for (std::size_t d = 0; d < read->index.size(); ++d)
        if (!bind(read->index[d], other.index[d], out)) return false;
    }
    return true;
  }
  static bool bind(const Affine& pattern, const Affine& row,
                   std::vector<std::optional<Affine>>& out) {
    if (pattern.terms.size() != 1) return true;  // compared once the others are known
    const std::int64_t coef = pattern.terms.front().coef;
    Affine value = row + Affine::constant(-pattern.offset);
    if (value.offset % coef != 0) return false;
    value.offset /= coef;
    for (ir::AffineTerm& term : value.terms) {
      if (term.coef % coef != 0) return false;
      term.coef /= coef;
    }
    out[static_cast<std::size_t>(pattern.terms.front().iter)] = std::move(value);
    return true;
  }

  ir::Nest& nest_;
  const Share& step_;
  ir::Block block_, other_;
};

}  // namespace

std::string Share::text() const { return "share " + block + " from " + from; }

StepResult<void> apply_step(ir::Nest& nest, const Share& step) { return Sharing(nest, step).run(); }

}  // namespace lathe::schedule
