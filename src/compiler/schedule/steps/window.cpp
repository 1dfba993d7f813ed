#include "compiler/schedule/steps/window.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/schedule/bounds.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/parts.h"

namespace lathe::schedule {
namespace {

using ir::BinaryOp;
using ir::BlockId;
using ir::Expr;

Expr whole(std::int64_t value) { return ir::constant(static_cast<double>(value), Dtype::kI64); }

class Windowing {
 public:
  Windowing(ir::Nest& nest, const Window& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    const BlockId id = LATHE_TRY(block_named(nest_, step_.block));
    if (!has_first_loops(nest_, id)) return refuse(Refusal::kNotAsWritten, step_.block);
    ir::Block& block = nest_.blocks[static_cast<std::size_t>(id)];
    for (std::size_t i = 0; i < block.iters.size(); ++i)
      if (block.iters[i].kind == ir::IterKind::kReduce && block.iters[i].name == step_.iter)
        along_ = static_cast<int>(i);
    if (along_ < 0) return refuse(Refusal::kNotAReduction, step_.block);
    const auto bounded = bounded_terms(nest_, block, along_);
    if (!bounded) return refuse(Refusal::kNoWindow, step_.block);
    ir::BlockIter& iter = block.iters[static_cast<std::size_t>(along_)];
    const std::int64_t extent = nest_.sizes.constant_value(iter.extent);
    const WindowOf window = window_of(nest_, block, along_, bounded->bounds);
    if (window.length >= extent) return refuse(Refusal::kNoWindow, step_.block);
    const auto body = moved(block, *bounded, window, extent);
    if (!body) return refuse(Refusal::kNoWindow, step_.block);
    block.body = *body;
    iter.extent = nest_.sizes.constant(window.length);
    nest_.loops[static_cast<std::size_t>(iter.digits.front().loop)].extent = iter.extent;
    return {};
  }

 private:
  // The body, in an iterator that counts from the window's start.
  std::optional<Expr> moved(const ir::Block& block, const BoundedTerms& bounded,
                            const WindowOf& window, std::int64_t extent) const {
    std::vector<Expr> values;
    for (int i = 0; i < static_cast<int>(block.iters.size()); ++i)
      values.push_back(ir::iter_value(i));
    Expr& value = values[static_cast<std::size_t>(along_)];
    const Expr place = ir::binary(BinaryOp::kAdd, window.start, value);
    // Lower bounds hold, for the window begins there.
    std::vector<Expr> conditions;
    bool ends = false;  // before the axis does
    for (const Bound& bound : bounded.bounds) {
      if (!bound.above) continue;
      conditions.push_back(ir::binary(BinaryOp::kLe, place, bound.limit));
      ends |= range_in(nest_, block, bound.limit).high < extent;
    }
    const ir::IndexRange range = {range_in(nest_, block, window.start).low,
                                  range_in(nest_, block, window.start).high + window.length - 1};
    const bool leaves = range.high >= extent;
    if (leaves && !ends) conditions.push_back(ir::binary(BinaryOp::kLt, place, whole(extent)));
    value = leaves ? ir::binary(BinaryOp::kMin, place, whole(extent - 1)) : place;
    auto terms = ir::with_iterators(bounded.terms, values);
    if (!terms) return std::nullopt;
    for (const Expr& other : bounded.others) {
      const auto condition = ir::with_iterators(other, values);
      if (!condition) return std::nullopt;
      conditions.push_back(*condition);
    }
    if (conditions.empty()) return terms;
    const Dtype dtype = block.body->dtype;
    return ir::select(all_of(conditions), *terms,
                      ir::constant(ir::identity_of(block.reduce, dtype), dtype));
  }

  ir::Nest& nest_;
  const Window& step_;
  int along_ = -1;
};

}  // namespace

std::string Window::text() const { return fmt::format("window of {} along {}", block, iter); }

StepResult<void> apply_step(ir::Nest& nest, const Window& step) {
  return Windowing(nest, step).run();
}

}  // namespace lathe::schedule
