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
    WindowOf window = window_of(nest_, block, along_, bounded->bounds);
    if (window.length >= extent) {
      auto body = bordered(block, *bounded);
      if (!body) return refuse(Refusal::kNoWindow, step_.block);
      block.body = *body;
      return {};
    }
    std::optional<Expr> body;
    if (window.may_leave) body = moved_affine(block, *bounded, window, extent);
    if (!body) {
      window = window_inside(nest_, block, along_, bounded->bounds);
      if (window.length >= extent) return refuse(Refusal::kNoWindow, step_.block);
      body = moved(block, *bounded, window, extent);
    }
    if (!body) return refuse(Refusal::kNoWindow, step_.block);
    block.body = *body;
    iter.extent = nest_.sizes.constant(window.length);
    nest_.loops[static_cast<std::size_t>(iter.digits.front().loop)].extent = iter.extent;
    return {};
  }

 private:
  // The body with its bounds as borders, like those of a padded read: a reduction runs over what is
  // inside. Nothing where a bound is not affine.
  std::optional<Expr> bordered(const ir::Block& block, const BoundedTerms& bounded) const {
    std::vector<ir::InRange::Row> rows;
    for (const Bound& bound : bounded.bounds) {
      const ir::AffineAndRest limit = ir::affine_and_rest(bound.limit);
      if (limit.rest) return std::nullopt;
      const int sign = bound.above ? 1 : -1;
      const ir::Affine inside = limit.affine * sign + ir::Affine::iter(along_, -sign);
      const ir::IndexRange range = range_in(nest_, block, ir::value_of(inside));
      if (range.low < 0) rows.push_back({inside, 0, std::max<std::int64_t>(range.high, 0) + 1});
    }
    if (rows.empty()) return std::nullopt;
    const Dtype dtype = block.body->dtype;
    const Expr none = ir::constant(ir::identity_of(block.reduce, dtype), dtype);
    Expr body = bounded.terms;
    if (!bounded.others.empty()) body = ir::select(all_of(bounded.others), body, none);
    return ir::select(ir::in_range(std::move(rows)), body, none);
  }

  // The body, in an iterator that counts from an affine start. Nothing where it would read at
  // computed places outside of the loop.
  std::optional<Expr> moved_affine(const ir::Block& before, const BoundedTerms& bounded,
                                   const WindowOf& window, std::int64_t extent) {
    ir::Block now = before;
    now.iters[static_cast<std::size_t>(along_)].extent = nest_.sizes.constant(window.length);
    std::vector<Expr> values;
    for (int i = 0; i < static_cast<int>(before.iters.size()); ++i)
      values.push_back(ir::iter_value(i));
    const ir::Affine place = ir::affine_and_rest(window.start).affine + ir::Affine::iter(along_);
    values[static_cast<std::size_t>(along_)] = ir::value_of(place);
    auto terms = ir::with_iterators(bounded.terms, values);
    if (!terms) return std::nullopt;
    std::vector<Expr> conditions;
    for (const Bound& bound : bounded.bounds)
      if (const auto condition = condition_of(nest_, now, ir::value_of(place), bound))
        conditions.push_back(*condition);
    for (const Expr& other : bounded.others) {
      const auto condition = ir::with_iterators(other, values);
      if (!condition) return std::nullopt;
      conditions.push_back(*condition);
    }
    const Dtype dtype = before.body->dtype;
    const Expr none = ir::constant(ir::identity_of(before.reduce, dtype), dtype);
    Expr body = without_idle_clamps(now, *terms);
    if (!conditions.empty()) body = ir::select(all_of(conditions), body, none);
    const ir::IndexRange range = range_in(nest_, now, ir::value_of(place));
    if (range.low >= 0 && range.high < extent) return body;
    if (!ir::lookups_of(body).empty()) return std::nullopt;
    return inside(body, place, extent, none);
  }

  // The body where the place is inside of the loop.
  Expr inside(const Expr& body, const ir::Affine& place, std::int64_t extent,
              const Expr& none) const {
    const auto* read = std::get_if<ir::Read>(&body->value);
    if (read != nullptr && !read->pad) {
      int leaving = 0, along = 0;
      for (std::size_t d = 0; d < read->index.size(); ++d) {
        if (read->index[d].coef_of(along_) == 0) continue;
        ++leaving;
        const ir::SizeId size = nest_.buffers[static_cast<std::size_t>(read->tensor)].shape[d];
        along += read->index[d] == place && nest_.sizes.constant_value(size) == extent ? 1 : 0;
      }
      if (leaving == 1 && along == 1)
        return ir::read(read->tensor, read->index, body->dtype,
                        std::get<ir::Const>(none->value).value);
    }
    return ir::select(ir::in_range({{place, 0, extent}}), body, none);
  }

  // With indices that need no `min` and `max` any more as what is inside of these.
  Expr without_idle_clamps(const ir::Block& block, const Expr& e) const {
    return ir::rewrite_leaves(e, [&](const Expr& leaf) -> Expr {
      const auto* lookup = std::get_if<ir::Lookup>(&leaf->value);
      if (lookup == nullptr) return leaf;
      std::vector<Expr> index;
      for (const Expr& row : lookup->index) index.push_back(unclamped(block, row));
      return ir::lookup(lookup->tensor, std::move(index), leaf->dtype, lookup->pad);
    });
  }
  Expr unclamped(const ir::Block& block, const Expr& e) const {
    const auto* b = std::get_if<ir::Binary>(&e->value);
    if (b == nullptr || (b->op != BinaryOp::kMin && b->op != BinaryOp::kMax)) {
      const ir::AffineAndRest parts = ir::affine_and_rest(e);
      return parts.rest ? e : ir::value_of(parts.affine);
    }
    Expr x = unclamped(block, b->a), y = unclamped(block, b->b);
    const ir::IndexRange of_x = range_in(nest_, block, x), of_y = range_in(nest_, block, y);
    const bool least = b->op == BinaryOp::kMin;
    if (least ? of_x.high <= of_y.low : of_x.low >= of_y.high) return x;
    if (least ? of_y.high <= of_x.low : of_y.low >= of_x.high) return y;
    return ir::binary(b->op, x, y);
  }

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
