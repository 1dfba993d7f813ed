#include "compiler/schedule/steps/separate.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

class Separation {
 public:
  Separation(ir::Nest& nest, const Separate& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    block_ = nest_.blocks[static_cast<std::size_t>(id)];
    for (const Affine& row : block_.index)
      if (row.offset != 0 || plain_iter(row) < 0)
        return refuse(Refusal::kNotAsWritten, step_.block);
    LATHE_TRY_STATUS(find_iters());
    const int position = analysis::child_with(nest_, ir::kRoot, id);
    remove_block(nest_, id);
    const ir::BufferId part = LATHE_TRY(make_part(position));
    return make_rest(part, position + 1);
  }

 private:
  const ir::BlockIter& iter(int i) const { return block_.iters[static_cast<std::size_t>(i)]; }
  std::int64_t extent(int i) const { return nest_.sizes.constant_value(iter(i).extent); }
  int iters() const { return static_cast<int>(block_.iters.size()); }

  StepResult<void> find_iters() {
    if (block_.reduce == ir::ReduceOp::kNone) return refuse(Refusal::kNotAReduction, step_.block);
    int reduced = 0;
    for (int i = 0; i < iters(); ++i) {
      if (iter(i).kind != IterKind::kReduce) continue;
      ++reduced;
      if (std::ranges::count(step_.iters, iter(i).name) > 0) first_.insert(i);
    }
    if (first_.size() != step_.iters.size() || first_.empty() ||
        std::cmp_greater_equal(first_.size(), reduced))
      return refuse(Refusal::kNotAReduction, step_.block);
    const auto touches = [&](const Expr& e) {
      return std::ranges::any_of(iters_of(e), [&](int i) { return first_.contains(i); });
    };
    part_ = block_.body;
    if (block_.reduce != ir::ReduceOp::kSum) return {};
    std::vector<Expr> inside;
    for (const Expr& factor : factors_of(block_.body))
      (touches(factor) ? inside : rest_).push_back(factor);
    if (inside.empty()) return refuse(Refusal::kNotElementwise, step_.block);
    part_ = product_of(inside);
    return {};
  }

  StepResult<ir::BufferId> make_part(int position) {
    axes_ = value_axes(nest_, block_, part_, first_);
    NewStage stage(nest_, step_.name, position);
    LATHE_TRY_STATUS(stage.add_axes(block_, axes_));
    if (axes_.empty()) LATHE_TRY(stage.add("one", 1));
    std::map<int, int> reduced;
    for (const int i : first_)
      reduced[i] = LATHE_TRY(stage.add(iter(i).name, extent(i), IterKind::kReduce));
    const ir::BufferId part =
        LATHE_TRY(add_buffer(nest_, step_.name, block_.body->dtype, stage.shape()));
    stage.finish(part, along_axes(part_, axes_, reduced), block_.reduce);
    return part;
  }

  StepResult<void> make_rest(ir::BufferId part, int position) {
    NewStage stage(nest_, block_.name, position);
    std::vector<Expr> values(block_.iters.size(), ir::constant(0, Dtype::kI64));
    const auto add = [&](int i, IterKind kind) -> StepResult<void> {
      values[static_cast<std::size_t>(i)] =
          ir::iter_value(LATHE_TRY(stage.add(iter(i).name, extent(i), kind)));
      return {};
    };
    for (const Affine& row : block_.index)
      LATHE_TRY_STATUS(add(plain_iter(row), IterKind::kSpatial));
    for (int i = 0; i < iters(); ++i)
      if (iter(i).kind == IterKind::kReduce && !first_.contains(i))
        LATHE_TRY_STATUS(add(i, IterKind::kReduce));
    std::vector<Affine> index = index_along(axes_);
    if (index.empty()) index.push_back(Affine::constant(0));
    std::vector<Expr> factors = {ir::read(part, std::move(index), block_.body->dtype)};
    factors.insert(factors.end(), rest_.begin(), rest_.end());
    stage.finish(block_.writes, *ir::with_iterators(product_of(factors), values), block_.reduce);
    return {};
  }

  ir::Nest& nest_;
  const Separate& step_;
  ir::Block block_;
  std::set<int> first_;          // iterators that are reduced first
  Expr part_;                    // what is reduced over them
  std::vector<Expr> rest_;       // other factors
  std::vector<ValueAxis> axes_;  // of the part's result
};

}  // namespace

std::string Separate::text() const {
  return fmt::format("separate {} of {} as {}", fmt::join(iters, ", "), block, name);
}

StepResult<void> apply_step(ir::Nest& nest, const Separate& step) {
  return Separation(nest, step).run();
}

}  // namespace lathe::schedule
