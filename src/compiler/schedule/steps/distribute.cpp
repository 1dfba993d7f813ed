#include "compiler/schedule/steps/distribute.h"

#include <algorithm>
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
using ir::ReduceOp;

// The largest multiple of an integer: it fits every type in which sums are kept.
constexpr double kLargestMultiple = 1 << 30;

bool reduces(const ir::Block& block, int i) {
  return block.iters[static_cast<std::size_t>(i)].kind == IterKind::kReduce;
}

Portion portion_of(const ir::Block& block, const Term& term) {
  Portion out{term.value, term.subtracted, iters_of(term.value)};
  out.reduces = std::ranges::any_of(out.iters, [&](int i) { return reduces(block, i); });
  return out;
}

bool reduce_together(const ir::Block& block, const Portion& a, const Portion& b) {
  if (!a.reduces || !b.reduces) return a.reduces == b.reduces;
  return std::ranges::any_of(a.iters,
                             [&](int i) { return reduces(block, i) && b.iters.contains(i); });
}

// Adds the second to the first.
void add_to(Portion& sum, Portion more) {
  sum.value =
      ir::binary(more.subtracted ? ir::BinaryOp::kSub : ir::BinaryOp::kAdd, sum.value, more.value);
  sum.iters.merge(more.iters);
}

class Distribution {
 public:
  Distribution(ir::Nest& nest, const Distribute& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    block_ = nest_.blocks[static_cast<std::size_t>(id)];
    if (block_.reduce == ReduceOp::kNone) return refuse(Refusal::kNotAReduction, step_.block);
    for (const Affine& row : block_.index)
      if (row.offset != 0 || plain_iter(row) < 0)
        return refuse(Refusal::kNotAsWritten, step_.block);
    const std::vector<Portion> portions = portions_of(block_);
    const auto named = std::ranges::count_if(portions, &Portion::reduces);
    if (static_cast<std::size_t>(named) != step_.names.size() ||
        (portions.size() == 1 && portions[0].iters.size() == block_.iters.size()))
      return refuse(Refusal::kNoTerms, step_.block);
    int position = analysis::child_with(nest_, ir::kRoot, id);
    remove_block(nest_, id);
    auto name = step_.names.begin();
    std::vector<Term> terms;
    for (const Portion& portion : portions) {
      Expr part = portion.value;
      if (portion.reduces) part = LATHE_TRY(reduced(portion, *name++, position++));
      terms.push_back({LATHE_TRY(repeated(portion, std::move(part))), portion.subtracted});
    }
    NewStage stage(nest_, block_.name, position);
    std::vector<int> now(block_.iters.size(), -1);
    for (const Affine& row : block_.index) {
      const int i = plain_iter(row);
      now[static_cast<std::size_t>(i)] = LATHE_TRY(stage.add(iter(i).name, extent(i)));
    }
    stage.finish_map(block_.writes, renumbered(sum_of(terms), now));
    return {};
  }

 private:
  const ir::BlockIter& iter(int i) const { return block_.iters[static_cast<std::size_t>(i)]; }
  std::int64_t extent(int i) const { return nest_.sizes.constant_value(iter(i).extent); }
  int count() const { return static_cast<int>(block_.iters.size()); }
  // A product has as many equal factors as there are iterations.
  bool goes_over(const Portion& portion, int i) const {
    return reduces(block_, i) && (portion.iters.contains(i) || block_.reduce == ReduceOp::kProd);
  }

  // Reduces the portion; what reads the result, in the iterators of the old block.
  StepResult<Expr> reduced(const Portion& portion, const std::string& name, int position) {
    NewStage stage(nest_, name, position);
    std::vector<int> now(block_.iters.size(), -1);
    std::vector<Affine> index;
    for (const Affine& row : block_.index) {
      const int i = plain_iter(row);
      if (!portion.iters.contains(i)) continue;
      now[static_cast<std::size_t>(i)] = LATHE_TRY(stage.add(iter(i).name, extent(i)));
      index.push_back(row);
    }
    if (index.empty()) {
      LATHE_TRY(stage.add("one", 1));
      index.push_back(Affine::constant(0));
    }
    for (int i = 0; i < count(); ++i)
      if (goes_over(portion, i))
        now[static_cast<std::size_t>(i)] =
            LATHE_TRY(stage.add(iter(i).name, extent(i), IterKind::kReduce));
    const Dtype dtype = block_.body->dtype;
    const ir::BufferId sum = LATHE_TRY(add_buffer(nest_, name, dtype, stage.shape()));
    stage.finish(sum, renumbered(portion.value, now), block_.reduce);
    return ir::read(sum, std::move(index), dtype);
  }

  // What a sum has so often as the iterators that it does not need have values.
  StepResult<Expr> repeated(const Portion& portion, Expr part) const {
    if (block_.reduce == ReduceOp::kProd && !portion.reduces)
      return refuse(Refusal::kNoTerms, step_.block);
    if (block_.reduce != ReduceOp::kSum) return part;
    double times = 1;
    for (int i = 0; i < count(); ++i)
      if (reduces(block_, i) && !portion.iters.contains(i)) times *= static_cast<double>(extent(i));
    const Dtype dtype = block_.body->dtype;
    if (times == 1) return part;
    if (!is_float(dtype) && times > kLargestMultiple) return refuse(Refusal::kNoTerms, step_.block);
    return ir::binary(ir::BinaryOp::kMul, std::move(part), ir::constant(times, dtype));
  }

  static Expr renumbered(const Expr& e, const std::vector<int>& now) {
    std::vector<Expr> values;
    for (const int i : now)
      values.push_back(i < 0 ? ir::constant(0, Dtype::kI64) : ir::iter_value(i));
    return *ir::with_iterators(e, values);  // iterators alone keep conditions affine
  }

  ir::Nest& nest_;
  const Distribute& step_;
  ir::Block block_;
};

}  // namespace

std::vector<Portion> portions_of(const ir::Block& block) {
  if (block.reduce == ReduceOp::kNone) return {};
  const bool sums = block.reduce == ReduceOp::kSum;
  if (!sums && (block.reduce == ReduceOp::kProd || !is_float(block.body->dtype)))
    return {portion_of(block, {block.body})};
  std::vector<Portion> out;
  for (const Term& term : terms_of(block.body)) {
    Portion next = portion_of(block, term);
    if (!sums && std::exchange(next.subtracted, false))
      next.value = ir::unary(ir::UnaryOp::kNeg, next.value);
    // An extreme's portions that the term joins become one.
    for (auto other = out.begin(); !sums && other != out.end();) {
      if (!reduce_together(block, *other, next)) {
        ++other;
        continue;
      }
      add_to(*other, std::move(next));
      next = std::move(*other);
      other = out.erase(other);
    }
    out.push_back(std::move(next));
  }
  return out;
}

std::string Distribute::text() const {
  return fmt::format("distribute {} as {}", block, fmt::join(names, ", "));
}

StepResult<void> apply_step(ir::Nest& nest, const Distribute& step) {
  return Distribution(nest, step).run();
}

}  // namespace lathe::schedule
