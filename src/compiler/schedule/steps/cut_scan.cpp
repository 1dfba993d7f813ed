#include "compiler/schedule/steps/cut_scan.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/scans.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/new_stage.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::BufferId;
using ir::Expr;
using ir::LoopId;

class ScanCutter {
 public:
  ScanCutter(ir::Nest& nest, const CutScan& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    for (const std::string& name : {step_.total, step_.before})
      if (auto is_free = check_new_name(nest_, name); !is_free) return is_free;
    if (step_.total == step_.before) return refuse(Refusal::kNameTaken, step_.before);
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    block_ = nest_.blocks[id];
    const auto scan = analysis::any_order_scan(block_);
    if (!scan || scan->part >= 0 || scan->factor != 1) return refuse(Refusal::kNoScan, step_.block);
    scan_ = *scan;
    first_ = scan_.own->pad.value_or(0);
    length_ = extent(scan_.axis);
    if (step_.size < 1) return refuse(Refusal::kNotPositive, step_.block);
    if (step_.size >= length_) return refuse(Refusal::kBadFactor, step_.block);
    parts_ = (length_ + step_.size - 1) / step_.size;
    const int position = analysis::child_with(nest_, ir::kRoot, id);
    remove_block(nest_, id);
    const BufferId total = LATHE_TRY(make_totals(position));
    const BufferId before = LATHE_TRY(make_before(total, position + 1));
    return make_parts(before, position + 2);
  }

 private:
  const ir::BlockIter& iter(int i) const { return block_.iters[static_cast<std::size_t>(i)]; }
  std::int64_t extent(int i) const { return nest_.sizes.constant_value(iter(i).extent); }
  int count() const { return static_cast<int>(block_.iters.size()); }
  Dtype dtype() const { return block_.body->dtype; }

  // The iterators of the scan, with one over parts but the last in place of the axis; what is
  // computed has a dimension for each. `part`: the loop over parts.
  StepResult<std::vector<Affine>> add_iters(NewStage& stage, LoopId& part) const {
    std::vector<Affine> out;
    for (int i = 0; i < count(); ++i) {
      const bool cut = i == scan_.axis;
      out.push_back(Affine::iter(LATHE_TRY(
          stage.add(cut ? iter(i).name + ".part" : iter(i).name, cut ? parts_ - 1 : extent(i)))));
      if (cut) part = stage.innermost();
    }
    return out;
  }

  StepResult<BufferId> make_totals(int position) {
    NewStage stage(nest_, step_.total, position);
    LoopId part = ir::kRoot;
    std::vector<Expr> values;
    for (const Affine& now : LATHE_TRY(add_iters(stage, part))) values.push_back(ir::value_of(now));
    const std::string& name = iter(scan_.axis).name;
    const LoopId along = LATHE_TRY(stage.add_loop_of(name, step_.size));
    const int term =
        stage.add_terms(name, length_, {{part, stage.size(step_.size)}, {along, stage.size(1)}});
    values[static_cast<std::size_t>(scan_.axis)] = ir::iter_value(term);
    const BufferId total = LATHE_TRY(add_buffer(nest_, step_.total, dtype(), stage.shape()));
    const auto terms = ir::with_iterators(scan_.terms, values);
    if (!terms) return refuse(Refusal::kNoScan, step_.block);
    stage.finish(total, *terms, analysis::reduction_by(scan_.op));
    return total;
  }

  StepResult<BufferId> make_before(BufferId total, int position) {
    NewStage stage(nest_, step_.before, position);
    LoopId part = ir::kRoot;
    const std::vector<Affine> here = LATHE_TRY(add_iters(stage, part));
    const BufferId before = LATHE_TRY(add_buffer(nest_, step_.before, dtype(), stage.shape()));
    stage.finish_map(before,
                     ir::binary(scan_.op, ir::read(before, one_before(here), dtype(), first_),
                                ir::read(total, here, dtype())));
    return before;
  }
  std::vector<Affine> one_before(std::vector<Affine> index) const {
    Affine& row = index[static_cast<std::size_t>(scan_.axis)];
    row = row + Affine::constant(-1);
    return index;
  }

  StepResult<void> make_parts(BufferId before, int position) {
    NewStage stage(nest_, block_.name, position);
    std::vector<Affine> iters, parts;  // of the scan, and of what is before its parts
    LoopId part = ir::kRoot, along = ir::kRoot;
    const std::string& name = iter(scan_.axis).name;
    for (int i = 0; i < count(); ++i) {
      if (i != scan_.axis) {
        iters.push_back(Affine::iter(LATHE_TRY(stage.add(iter(i).name, extent(i)))));
        continue;
      }
      part = LATHE_TRY(stage.add_loop_of(name + ".part", parts_));
      along = LATHE_TRY(stage.add_loop_of(name, step_.size));
      stage.add_digits(name, length_, {{part, stage.size(step_.size)}, {along, stage.size(1)}});
      iters.push_back(Affine::iter(i));
    }
    parts = iters;
    parts[static_cast<std::size_t>(scan_.axis)] =
        Affine::iter(stage.add_view(name + ".part", parts_, part));
    const int inside = stage.add_view(name + ".inside", step_.size, along);
    std::vector<Affine> own;
    for (std::size_t d = 0; d < block_.index.size(); ++d) {
      stage.turn_round(d, ir::substitute(block_.index[d], iters));
      own.push_back(ir::substitute(scan_.own->index[d], iters));
    }
    std::vector<Expr> values;
    for (const Affine& now : iters) values.push_back(ir::iter_value(now.terms[0].iter));
    const auto terms = ir::with_iterators(scan_.terms, values);
    if (!terms) return refuse(Refusal::kNoScan, step_.block);
    const Expr start =
        ir::select(ir::in_range({{Affine::iter(inside) + Affine::constant(-1), 0, step_.size}}),
                   ir::read(block_.writes, std::move(own), dtype()),
                   ir::read(before, one_before(parts), dtype(), first_));
    stage.finish_map(block_.writes, ir::binary(scan_.op, start, *terms));
    return {};
  }

  ir::Nest& nest_;
  const CutScan& step_;
  ir::Block block_;
  analysis::AnyOrderScan scan_;
  double first_ = 0;  // what is before the first element
  std::int64_t length_ = 0, parts_ = 0;
};

}  // namespace

std::string CutScan::text() const {
  return fmt::format("cut scan {} into parts of {}, with {} and {}", block, size, total, before);
}

StepResult<void> apply_step(ir::Nest& nest, const CutScan& step) {
  return ScanCutter(nest, step).run();
}

}  // namespace lathe::schedule
