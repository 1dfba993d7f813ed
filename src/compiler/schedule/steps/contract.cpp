#include "compiler/schedule/steps/contract.h"

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

class Contraction {
 public:
  Contraction(ir::Nest& nest, const Contract& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    block_ = nest_.blocks[id];
    if (block_.reduce != ir::ReduceOp::kSum) return refuse(Refusal::kNotAReduction, step_.block);
    for (const Affine& row : block_.index)
      if (row.offset != 0 || plain_iter(row) < 0)
        return refuse(Refusal::kNotAsWritten, step_.block);
    if (auto sorted = sort_factors(); !sorted) return sorted;
    const int position = analysis::child_with(nest_, ir::kRoot, id);
    remove_block(nest_, id);
    const ir::BufferId part = LATHE_TRY(make_part(position));
    return make_rest(part, position + 1);
  }

 private:
  StepResult<void> sort_factors() {
    const auto factors = factors_of(block_.body);
    std::set<std::int64_t> numbers(step_.factors.begin(), step_.factors.end());
    if (numbers.size() != step_.factors.size()) return refuse(Refusal::kNamedTwice, step_.block);
    if (numbers.empty() || numbers.size() >= factors.size() || *numbers.begin() < 0 ||
        std::cmp_greater_equal(*numbers.rbegin(), factors.size()))
      return refuse(Refusal::kBadNumber, step_.block);
    std::set<int> elsewhere;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      const bool mine = numbers.contains(static_cast<std::int64_t>(f));
      (mine ? part_ : rest_).push_back(factors[f]);
      if (!mine) elsewhere.merge(iters_of(factors[f]));
    }
    const std::set<int> touched = iters_of(product_of(part_));
    for (const int i : touched)
      if (iter(i).kind == IterKind::kReduce && !elsewhere.contains(i)) summed_.insert(i);
    // A copy of one read serves nobody.
    const bool copy = part_.size() == 1 && std::holds_alternative<ir::Read>(part_[0]->value);
    if (touched.empty() || (copy && summed_.empty()))
      return refuse(Refusal::kNotElementwise, step_.block);
    return {};
  }

  const ir::BlockIter& iter(int i) const { return block_.iters[static_cast<std::size_t>(i)]; }
  std::int64_t extent(int i) const { return nest_.sizes.constant_value(iter(i).extent); }

  StepResult<ir::BufferId> make_part(int position) {
    axes_ = value_axes(nest_, block_, product_of(part_), summed_);
    NewStage stage(nest_, step_.name, position);
    LATHE_TRY_STATUS(stage.add_axes(block_, axes_));
    if (axes_.empty()) LATHE_TRY(stage.add(name_of_one(), 1));
    std::map<int, int> sums;
    for (const int i : summed_)
      sums[i] = LATHE_TRY(stage.add(iter(i).name, extent(i), IterKind::kReduce));
    const Dtype dtype = block_.body->dtype;
    const ir::BufferId part = LATHE_TRY(add_buffer(nest_, step_.name, dtype, stage.shape()));
    const Expr body = along_axes(product_of(part_), axes_, sums);
    if (summed_.empty()) stage.finish_map(part, body);
    else stage.finish(part, body);
    return part;
  }

  std::string name_of_one() const {
    std::string name = "one";
    while (
        std::ranges::any_of(block_.iters, [&](const ir::BlockIter& i) { return i.name == name; }))
      name += "_";
    return name;
  }

  StepResult<void> make_rest(ir::BufferId part, int position) {
    NewStage stage(nest_, block_.name, position);
    std::vector<int> now(block_.iters.size(), -1);
    for (const Affine& row : block_.index) {
      const int i = plain_iter(row);
      now[static_cast<std::size_t>(i)] = LATHE_TRY(stage.add(iter(i).name, extent(i)));
    }
    bool sums = false;
    for (int i = 0; i < static_cast<int>(block_.iters.size()); ++i) {
      if (iter(i).kind != IterKind::kReduce || summed_.contains(i)) continue;
      now[static_cast<std::size_t>(i)] =
          LATHE_TRY(stage.add(iter(i).name, extent(i), IterKind::kReduce));
      sums = true;
    }
    std::vector<Affine> index = index_along(axes_);
    if (index.empty()) index.push_back(Affine::constant(0));
    std::vector<Expr> factors = {ir::read(part, std::move(index), block_.body->dtype)};
    factors.insert(factors.end(), rest_.begin(), rest_.end());
    const Expr body = in_iters(product_of(factors), now);
    if (sums) stage.finish(block_.writes, body);
    else stage.finish_map(block_.writes, body);
    return {};
  }

  // The expression, whose iterators get new numbers; of those that it does not have -1.
  static Expr in_iters(const Expr& e, const std::vector<int>& now) {
    std::vector<Expr> values;
    for (const int i : now)
      values.push_back(i < 0 ? ir::constant(0, Dtype::kI64) : ir::iter_value(i));
    return *ir::with_iterators(e, values);  // iterators alone keep conditions affine
  }

  ir::Nest& nest_;
  const Contract& step_;
  ir::Block block_;
  std::vector<Expr> part_, rest_;  // factors
  std::set<int> summed_;           // iterators that only the part has
  std::vector<ValueAxis> axes_;    // of the part's result
};

}  // namespace

std::string Contract::text() const {
  return fmt::format("contract factor{} {} of {} as {}", factors.size() == 1 ? "" : "s",
                     fmt::join(factors, ", "), block, name);
}

StepResult<void> apply_step(ir::Nest& nest, const Contract& step) {
  return Contraction(nest, step).run();
}

}  // namespace lathe::schedule
