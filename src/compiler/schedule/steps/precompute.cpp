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
    nest_.blocks[id].body =
        replaced(block.body, what_, ir::read(values, index_along(axes_), what_->dtype));
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
    LATHE_TRY_STATUS(stage.add_axes(block, axes_));
    const ir::BufferId values =
        LATHE_TRY(add_buffer(nest_, step_.name, what_->dtype, stage.shape()));
    stage.finish_map(values, along_axes(what_, axes_));
    return values;
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
