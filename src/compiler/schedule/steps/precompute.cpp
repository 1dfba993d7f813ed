#include "compiler/schedule/steps/precompute.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/new_stage.h"
#include "compiler/schedule/parts.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::Expr;

constexpr double kMostValues = 0x1p40;  // as of any tensor

class Precomputer {
 public:
  Precomputer(ir::Nest& nest, const Precompute& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    const auto all = subexpressions(nest_.blocks[id].body);
    if (step_.expression < 0 || std::cmp_greater_equal(step_.expression, all.size()))
      return refuse(Refusal::kBadNumber, step_.block);
    what_ = all[static_cast<std::size_t>(step_.expression)];
    axes_ = value_axes(nest_, nest_.blocks[id], what_);
    if (axes_.empty() || is_leaf() || reads_result(nest_.blocks[id]))
      return refuse(Refusal::kNotElementwise, step_.block);
    if (elements_of(axes_) > kMostValues) return refuse(Refusal::kTooLarge, step_.name);
    const ir::Block block = nest_.blocks[id];
    const ir::BufferId values = LATHE_TRY(make(block, analysis::child_with(nest_, ir::kRoot, id)));
    std::vector<Affine> index;
    for (const ValueAxis& axis : axes_) index.push_back(axis.along + Affine::constant(-axis.low));
    nest_.blocks[id].body =
        replaced(block.body, what_, ir::read(values, std::move(index), what_->dtype));
    return {};
  }

 private:
  bool is_leaf() const {
    return std::holds_alternative<ir::Const>(what_->value) ||
           std::holds_alternative<ir::IterValue>(what_->value) ||
           std::holds_alternative<ir::Read>(what_->value);
  }
  bool reads_result(const ir::Block& block) const {
    return std::ranges::count(ir::tensors_of(what_), block.writes) > 0;
  }

  StepResult<ir::BufferId> make(const ir::Block& block, int position) {
    NewStage stage(nest_, step_.name, position);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const bool plain = axes_[a].along.terms.size() == 1;
      const auto iter = static_cast<std::size_t>(axes_[a].along.terms.front().iter);
      const std::string name = plain ? block.iters[iter].name : fmt::format("d{}", a);
      LATHE_TRY(stage.add(name, axes_[a].size));
    }
    const ir::BufferId values =
        LATHE_TRY(add_buffer(nest_, step_.name, what_->dtype, stage.shape()));
    stage.finish_map(values, ir::rewrite_leaves(what_, [&](const Expr& leaf) { return at(leaf); }));
    return values;
  }

  // A leaf of the expression in the iterators of the new block.
  Expr at(const Expr& leaf) const {
    if (const auto* value = std::get_if<ir::IterValue>(&leaf->value)) {
      const auto [number, factor] = axis_of(Affine::iter(value->iter));
      return ir::iter_value(number);
    }
    if (const auto* range = std::get_if<ir::InRange>(&leaf->value)) {
      std::vector<ir::InRange::Row> rows = range->rows;
      for (ir::InRange::Row& row : rows) row.index = at(row.index);
      return ir::in_range(std::move(rows));
    }
    if (std::holds_alternative<ir::Lookup>(leaf->value)) return leaf;
    const auto& read = std::get<ir::Read>(leaf->value);
    std::vector<Affine> index;
    for (const Affine& row : read.index) index.push_back(at(row));
    return ir::read(read.tensor, std::move(index), leaf->dtype, read.pad);
  }
  Affine at(const Affine& row) const {
    if (row.terms.empty()) return row;
    const auto [number, factor] = axis_of(row);
    if (number >= 0)
      return Affine::iter(number, factor) +
             Affine::constant(factor * axes_[static_cast<std::size_t>(number)].low + row.offset);
    Affine out = Affine::constant(row.offset);
    for (const ir::AffineTerm& term : row.terms)
      out = out + Affine::iter(axis_of(Affine::iter(term.iter)).first, term.coef);
    return out;
  }
  // The axis that the row is a multiple of, and the factor; -1: none.
  std::pair<int, std::int64_t> axis_of(const Affine& row) const {
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const Affine& along = axes_[a].along;
      const std::int64_t factor = row.coef_of(along.terms.front().iter) / along.terms.front().coef;
      if (factor != 0 && (along * factor).terms == row.terms) return {static_cast<int>(a), factor};
    }
    return {-1, 0};
  }

  ir::Nest& nest_;
  const Precompute& step_;
  Expr what_;
  std::vector<ValueAxis> axes_;
};

}  // namespace

std::string Precompute::text() const {
  return fmt::format("precompute expression {} of {} as {}", expression, block, name);
}

StepResult<void> apply_step(ir::Nest& nest, const Precompute& step) {
  return Precomputer(nest, step).run();
}

}  // namespace lathe::schedule
