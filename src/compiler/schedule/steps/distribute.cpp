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

class Distribution {
 public:
  Distribution(ir::Nest& nest, const Distribute& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    block_ = nest_.blocks[static_cast<std::size_t>(id)];
    if (block_.reduce != ir::ReduceOp::kSum) return refuse(Refusal::kNotAReduction, step_.block);
    for (const Affine& row : block_.index)
      if (row.offset != 0 || plain_iter(row) < 0)
        return refuse(Refusal::kNotAsWritten, step_.block);
    const std::vector<Term> terms = terms_of(block_.body);
    if (terms.size() < 2 || terms.size() != step_.names.size())
      return refuse(Refusal::kNoTerms, step_.block);
    int position = analysis::child_with(nest_, ir::kRoot, id);
    remove_block(nest_, id);
    Expr total;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const Expr part = LATHE_TRY(make_sum(terms[t].value, step_.names[t], position++));
      const bool subtracts = terms[t].subtracted;
      if (!total) total = subtracts ? ir::unary(ir::UnaryOp::kNeg, part) : part;
      else total = ir::binary(subtracts ? ir::BinaryOp::kSub : ir::BinaryOp::kAdd, total, part);
    }
    NewStage stage(nest_, block_.name, position);
    std::vector<int> now(block_.iters.size(), -1);
    for (const Affine& row : block_.index) {
      const int i = plain_iter(row);
      now[static_cast<std::size_t>(i)] = LATHE_TRY(stage.add(iter(i).name, extent(i)));
    }
    stage.finish_map(block_.writes, renumbered(total, now));
    return {};
  }

 private:
  const ir::BlockIter& iter(int i) const { return block_.iters[static_cast<std::size_t>(i)]; }
  std::int64_t extent(int i) const { return nest_.sizes.constant_value(iter(i).extent); }

  // Sums up the term; what reads the result, in the iterators of the old block.
  StepResult<Expr> make_sum(const Expr& term, const std::string& name, int position) {
    const std::set<int> own = iters_of(term);
    NewStage stage(nest_, name, position);
    std::vector<int> now(block_.iters.size(), -1);
    std::vector<Affine> index;
    for (const Affine& row : block_.index) {
      const int i = plain_iter(row);
      if (!own.contains(i)) continue;
      now[static_cast<std::size_t>(i)] = LATHE_TRY(stage.add(iter(i).name, extent(i)));
      index.push_back(row);
    }
    if (index.empty()) {
      LATHE_TRY(stage.add("one", 1));
      index.push_back(Affine::constant(0));
    }
    for (int i = 0; i < static_cast<int>(block_.iters.size()); ++i)
      if (iter(i).kind == IterKind::kReduce)
        now[static_cast<std::size_t>(i)] =
            LATHE_TRY(stage.add(iter(i).name, extent(i), IterKind::kReduce));
    const Dtype dtype = block_.body->dtype;
    const ir::BufferId sum = LATHE_TRY(add_buffer(nest_, name, dtype, stage.shape()));
    stage.finish(sum, renumbered(term, now));
    return ir::read(sum, std::move(index), dtype);
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

std::string Distribute::text() const {
  return fmt::format("distribute {} as {}", block, fmt::join(names, ", "));
}

StepResult<void> apply_step(ir::Nest& nest, const Distribute& step) {
  return Distribution(nest, step).run();
}

}  // namespace lathe::schedule
