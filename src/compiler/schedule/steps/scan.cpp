#include "compiler/schedule/steps/scan.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/bounds.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/new_stage.h"
#include "compiler/schedule/parts.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BinaryOp;
using ir::BlockId;
using ir::Expr;
using ir::IterKind;
using ir::ReduceOp;

Expr combined(ReduceOp reduce, Expr a, Expr b) {
  const BinaryOp op = reduce == ReduceOp::kSum   ? BinaryOp::kAdd
                      : reduce == ReduceOp::kMax ? BinaryOp::kMax
                      : reduce == ReduceOp::kMin ? BinaryOp::kMin
                                                 : BinaryOp::kMul;
  return ir::binary(op, std::move(a), std::move(b));
}

Expr number(std::int64_t value) { return ir::constant(static_cast<double>(value), Dtype::kI64); }

class Scanner {
 public:
  Scanner(ir::Nest& nest, const Scan& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    if (!step_.name.empty())
      if (auto is_free = check_new_name(nest_, step_.name); !is_free) return is_free;
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    block_ = nest_.blocks[id];
    for (const Affine& row : block_.index)
      if (row.offset != 0 || plain_iter(row) < 0)
        return refuse(Refusal::kNotAsWritten, step_.block);
    for (int i = 0; i < static_cast<int>(block_.iters.size()); ++i)
      if (iter(i).kind == IterKind::kReduce && iter(i).name == step_.iter) along_ = i;
    if (along_ < 0) return refuse(Refusal::kNotAReduction, step_.block);
    if (!find_bound()) return refuse(Refusal::kNoBound, step_.block);
    set_length();
    if (step_.name.empty() && !is_whole()) return refuse(Refusal::kNoBound, step_.block);
    const int position = analysis::child_with(nest_, ir::kRoot, id);
    remove_block(nest_, id);
    const ir::BufferId scan = LATHE_TRY(make_scan(position));
    if (step_.name.empty()) return {};
    return make_rest(scan, position + 1);
  }

 private:
  const ir::BlockIter& iter(int i) const { return block_.iters[static_cast<std::size_t>(i)]; }
  std::int64_t extent(int i) const { return nest_.sizes.constant_value(iter(i).extent); }

  // Sorts what the body has into terms of the scan and the rest, by the first bound that the terms
  // do not depend on.
  bool find_bound() {
    const auto bounded = bounded_terms(nest_, block_, along_);
    if (!bounded) return false;
    std::vector<Expr> inside, own;
    factors_.clear(), conditions_.clear();
    if (block_.reduce != ReduceOp::kSum) inside = {bounded->terms};
    else
      for (const Expr& factor : factors_of(bounded->terms))
        (iters_of(factor).contains(along_) ? inside : factors_).push_back(factor);
    terms_ = inside.empty() ? ir::constant(1, block_.body->dtype) : product_of(inside);
    for (const Expr& condition : bounded->others)
      (iters_of(condition).contains(along_) ? own : conditions_).push_back(condition);
    for (std::size_t b = 0; b < bounded->bounds.size(); ++b) {
      std::vector<Expr> all = own;
      for (std::size_t other = 0; other < bounded->bounds.size(); ++other)
        if (other != b) all.push_back(bounded->bounding[other]);
      Expr terms = terms_;
      if (!all.empty()) terms = ir::select(all_of(all), terms, neutral());
      own_ = iters_of(terms);
      own_.erase(along_);
      for (const int i : iters_of(bounded->bounds[b].limit))
        if (!own_.contains(i) && iter(i).kind == IterKind::kSpatial && stands_for_ < 0)
          stands_for_ = i;
      if (stands_for_ < 0) continue;
      bound_ = bounded->bounds[b];
      terms_ = terms;
      return true;
    }
    return false;
  }
  Expr neutral() const {
    return ir::constant(ir::identity_of(block_.reduce, block_.body->dtype), block_.body->dtype);
  }

  // No element behind the last that is read.
  void set_length() {
    length_ = extent(along_);
    const ir::IndexRange range = range_in(nest_, block_, bound_.limit);
    low_ = range.low, high_ = range.high;
    if (bound_.above) length_ = std::clamp<std::int64_t>(high_, 0, length_ - 1) + 1;
  }

  // True if the block would only copy the scan.
  bool is_whole() const {
    const auto* limit = std::get_if<ir::IterValue>(&bound_.limit->value);
    std::set<int> all = own_;
    all.insert(stands_for_);
    return limit != nullptr && limit->iter == stands_for_ && factors_.empty() &&
           conditions_.empty() && all.size() == block_.index.size() &&
           all.size() + 1 == block_.iters.size() && length_ == extent(stands_for_) &&
           nest_.buffers[static_cast<std::size_t>(block_.writes)].dtype == block_.body->dtype;
  }

  // The axes of the scan in the order of the result's.
  std::vector<int> axes() const {
    std::vector<int> out;
    const auto add = [&](int i) {
      if (own_.contains(i)) out.push_back(i);
      if (i == stands_for_) out.push_back(along_);
    };
    for (const Affine& row : block_.index) add(plain_iter(row));
    for (int i = 0; i < static_cast<int>(block_.iters.size()); ++i)
      if (iter(i).kind == IterKind::kReduce) add(i);
    return out;
  }

  StepResult<ir::BufferId> make_scan(int position) {
    const std::string name = step_.name.empty() ? block_.name : step_.name;
    const Dtype dtype = block_.body->dtype;
    NewStage stage(nest_, name, position);
    std::vector<Expr> values(block_.iters.size(), number(0));
    std::vector<Affine> before;
    std::size_t axis = 0;
    int moving = -1;
    for (const int i : axes()) {
      const bool whole = i == along_ && step_.name.empty();
      const int now = LATHE_TRY(
          stage.add(iter(whole ? stands_for_ : i).name, i == along_ ? length_ : extent(i)));
      values[static_cast<std::size_t>(i)] = ir::iter_value(now);
      if (i == along_) axis = before.size(), moving = now;
      before.push_back(Affine::iter(now));
    }
    if (!bound_.above) {  // from the last element on
      const Affine turned = Affine::iter(moving, -1) + Affine::constant(length_ - 1);
      stage.turn_round(axis, turned);
      before[axis] = turned;
      values[static_cast<std::size_t>(along_)] =
          ir::binary(BinaryOp::kSub, number(length_ - 1), ir::iter_value(moving));
    }
    before[axis] = before[axis] + Affine::constant(bound_.above ? -1 : 1);
    ir::BufferId scan = block_.writes;
    if (!step_.name.empty()) scan = LATHE_TRY(add_buffer(nest_, name, dtype, stage.shape()));
    const auto terms = ir::with_iterators(terms_, values);
    if (!terms) return refuse(Refusal::kNoBound, step_.block);
    const double first = ir::identity_of(block_.reduce, dtype);
    stage.finish_map(scan, combined(block_.reduce, ir::read(scan, before, dtype, first), *terms));
    return scan;
  }

  // The element of the scan where the bound is.
  Expr scanned(ir::BufferId scan) const {
    Expr place = bound_.limit;
    const bool is_above = high_ > length_ - 1, is_below = low_ < 0;
    bool may_be_empty = false;
    if (is_above) {
      if (bound_.above) place = ir::binary(BinaryOp::kMin, place, number(length_ - 1));
      else may_be_empty = true;
    }
    if (is_below) {
      if (!bound_.above) place = ir::binary(BinaryOp::kMax, place, number(0));
      else may_be_empty = true;
    }
    const Dtype dtype = block_.body->dtype;
    std::optional<double> pad;
    if (may_be_empty) pad = ir::identity_of(block_.reduce, dtype);
    std::vector<Expr> index;
    for (const int i : axes()) index.push_back(i == along_ ? place : ir::iter_value(i));
    return ir::lookup(scan, std::move(index), dtype, pad);
  }

  StepResult<void> make_rest(ir::BufferId scan, int position) {
    NewStage stage(nest_, block_.name, position);
    std::vector<Expr> values(block_.iters.size(), number(0));
    for (const Affine& row : block_.index) {
      const int i = plain_iter(row);
      values[static_cast<std::size_t>(i)] =
          ir::iter_value(LATHE_TRY(stage.add(iter(i).name, extent(i))));
    }
    bool reduces = false;
    for (int i = 0; i < static_cast<int>(block_.iters.size()); ++i) {
      if (iter(i).kind != IterKind::kReduce || i == along_) continue;
      values[static_cast<std::size_t>(i)] =
          ir::iter_value(LATHE_TRY(stage.add(iter(i).name, extent(i), IterKind::kReduce)));
      reduces = true;
    }
    std::vector<Expr> factors = {scanned(scan)};
    factors.insert(factors.end(), factors_.begin(), factors_.end());
    Expr body = product_of(factors);
    if (!conditions_.empty()) body = ir::select(all_of(conditions_), body, neutral());
    const auto now = ir::with_iterators(body, values);
    if (!now) return refuse(Refusal::kNoBound, step_.block);
    if (reduces) stage.finish(block_.writes, *now, block_.reduce);
    else stage.finish_map(block_.writes, *now);
    return {};
  }

  ir::Nest& nest_;
  const Scan& step_;
  ir::Block block_;
  int along_ = -1;
  int stands_for_ = -1;  // the iterator of the result in whose place the scan's axis is
  Bound bound_;
  Expr terms_;
  std::vector<Expr> factors_, conditions_;  // outside
  std::set<int> own_;                       // iterators of the terms
  std::int64_t length_ = 0, low_ = 0, high_ = 0;
};

}  // namespace

std::string Scan::text() const {
  if (name.empty()) return fmt::format("scan {} along {}", block, iter);
  return fmt::format("scan {} along {} as {}", block, iter, name);
}

StepResult<void> apply_step(ir::Nest& nest, const Scan& step) { return Scanner(nest, step).run(); }

}  // namespace lathe::schedule
