#include "compiler/schedule/bounds.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/schedule/parts.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::AffineAndRest;
using ir::Binary;
using ir::BinaryOp;
using ir::Expr;

constexpr double kMostPoints = 0x1p20;  // that are looked at one by one
// Products and sums of these do not wrap.
constexpr std::int64_t kMostTimes = 1 << 20, kMostSmall = std::int64_t{1} << 40;

bool is_neutral(const Expr& e, ir::ReduceOp reduce) {
  const auto* value = std::get_if<ir::Const>(&e->value);
  return value != nullptr && value->value == ir::identity_of(reduce, e->dtype);
}

Expr negated(const Expr& e) { return ir::unary(ir::UnaryOp::kNot, e); }

Expr whole_number(std::int64_t value) {
  return ir::constant(static_cast<double>(value), Dtype::kI64);
}

const Binary* as_binary(const Expr& e, BinaryOp op) {
  const auto* b = std::get_if<Binary>(&e->value);
  return b != nullptr && b->op == op ? b : nullptr;
}

// The conditions of which all hold where e does, or where it does not.
class Conditions {
 public:
  // Those that bound the iterator, most of all.
  Conditions(const ir::Nest& nest, const ir::Block& block, int iter, std::vector<Expr>& out)
      : nest_(nest), block_(block), iter_(iter), out_(out) {}

  void append(const Expr& e, bool holds) {
    if (const auto* u = std::get_if<ir::Unary>(&e->value); u && u->op == ir::UnaryOp::kNot)
      return append(u->x, !holds);
    const auto* b = std::get_if<Binary>(&e->value);
    if (b != nullptr && b->op == (holds ? BinaryOp::kAnd : BinaryOp::kOr)) {
      append(b->a, holds);
      append(b->b, holds);
      return;
    }
    const bool counts = b != nullptr && b->a->dtype == Dtype::kI64;
    if (!holds) {
      if (counts && b->op == BinaryOp::kLt) return compare(BinaryOp::kLe, b->b, b->a);
      if (counts && b->op == BinaryOp::kLe) return compare(BinaryOp::kLt, b->b, b->a);
      if (counts && b->op == BinaryOp::kNe) return compare(BinaryOp::kEq, b->a, b->b);
      return out_.push_back(negated(e));
    }
    if (counts && (b->op == BinaryOp::kLt || b->op == BinaryOp::kLe || b->op == BinaryOp::kEq))
      return compare(b->op, b->a, b->b);
    out_.push_back(e);
  }

 private:
  // a < b, a <= b or a == b, as comparisons of what is inside of quotients and absolute values that
  // have the iterator.
  void compare(BinaryOp op, const Expr& a, const Expr& b) {
    if (op == BinaryOp::kEq) {
      if (!is_quotient(a, b) && !is_quotient(b, a)) return out_.push_back(ir::binary(op, a, b));
      compare(BinaryOp::kLe, a, b);
      return compare(BinaryOp::kLe, b, a);
    }
    if (const auto* size = std::get_if<ir::Unary>(&a->value);
        size != nullptr && size->op == ir::UnaryOp::kAbs && moves(size->x) && is_small(size->x) &&
        is_small(b)) {
      compare(op, size->x, b);
      return compare(op, ir::unary(ir::UnaryOp::kNeg, b), size->x);
    }
    if (is_quotient(a, b)) {  // x / d <= b where x < b * d + d
      const Binary& x = std::get<Binary>(a->value);
      const Expr most = ir::binary(BinaryOp::kMul, b, x.b);
      return compare(BinaryOp::kLt, x.a,
                     op == BinaryOp::kLt ? most : ir::binary(BinaryOp::kAdd, most, x.b));
    }
    if (is_quotient(b, a)) {  // a <= x / d where a * d <= x
      const Binary& x = std::get<Binary>(b->value);
      const Expr least = ir::binary(BinaryOp::kMul, a, x.b);
      return compare(BinaryOp::kLe,
                     op == BinaryOp::kLe ? least : ir::binary(BinaryOp::kAdd, least, x.b), x.a);
    }
    out_.push_back(ir::binary(op, a, b));
  }
  // True for a quotient that is rounded down, by a number, where the other side may be multiplied.
  bool is_quotient(const Expr& e, const Expr& other) const {
    const Binary* quotient = as_binary(e, BinaryOp::kDiv);
    if (quotient == nullptr || !moves(quotient->a)) return false;
    const auto* by = std::get_if<ir::Const>(&quotient->b->value);
    return by != nullptr && by->value <= static_cast<double>(kMostTimes) && is_small(other) &&
           range_in(nest_, block_, quotient->a).low >= 0;
  }
  bool moves(const Expr& e) const { return iters_of(e).contains(iter_); }
  bool is_small(const Expr& e) const {
    const ir::IndexRange range = range_in(nest_, block_, e);
    return range.low >= -kMostSmall && range.high <= kMostSmall;
  }

  const ir::Nest& nest_;
  const ir::Block& block_;
  int iter_;
  std::vector<Expr>& out_;
};

// Takes the conditions off e, outermost first.
Expr without_conditions(const Expr& e, ir::ReduceOp reduce, Conditions& found,
                        const std::vector<Expr>& conditions) {
  if (const auto* s = std::get_if<ir::Select>(&e->value)) {
    const bool swapped = is_neutral(s->then, reduce);
    if (!swapped && !is_neutral(s->otherwise, reduce)) return e;
    found.append(s->condition, !swapped);
    return without_conditions(swapped ? s->otherwise : s->then, reduce, found, conditions);
  }
  if (reduce != ir::ReduceOp::kSum) return e;
  if (const auto* c = std::get_if<ir::Cast>(&e->value); c && c->x->dtype == Dtype::kBool) {
    found.append(c->x, true);
    return ir::constant(1, e->dtype);
  }
  std::vector<Expr> factors = factors_of(e), kept;
  if (factors.size() < 2) return e;
  const std::size_t before = conditions.size();
  for (const Expr& factor : factors) {
    Expr inner = without_conditions(factor, reduce, found, conditions);
    const auto* one = std::get_if<ir::Const>(&inner->value);
    if (inner == factor || one == nullptr || one->value != 1) kept.push_back(std::move(inner));
  }
  if (conditions.size() == before) return e;
  return kept.empty() ? ir::constant(1, e->dtype) : product_of(kept);
}

// positive - negative
Expr difference(const AffineAndRest& positive, const AffineAndRest& negative) {
  const Affine affine = positive.affine + negative.affine * -1;
  Expr rest = positive.rest;
  if (negative.rest)
    rest = rest ? ir::binary(BinaryOp::kSub, rest, negative.rest)
                : ir::unary(ir::UnaryOp::kNeg, negative.rest);
  if (!rest) return ir::value_of(affine);
  if (affine == Affine{}) return rest;
  return ir::binary(BinaryOp::kAdd, rest, ir::value_of(affine));
}

// limit / times as a bound from above: where limit is negative, so is this.
Expr rounded_down(const Expr& limit, std::int64_t times) {
  if (times == 1) return limit;
  const Expr least = ir::binary(BinaryOp::kMax, limit, whole_number(-times));
  const Expr moved = ir::binary(BinaryOp::kAdd, least, whole_number(times));
  const Expr quotient = ir::binary(BinaryOp::kDiv, moved, whole_number(times));
  return ir::binary(BinaryOp::kSub, quotient, whole_number(1));
}
// The same from below: where limit is negative, this is 0.
Expr rounded_up(const Expr& limit, std::int64_t times) {
  if (times == 1) return limit;
  const Expr least = ir::binary(BinaryOp::kMax, limit, whole_number(0));
  const Expr moved = ir::binary(BinaryOp::kAdd, least, whole_number(times - 1));
  return ir::binary(BinaryOp::kDiv, moved, whole_number(times));
}

void append_bounds(const Expr& condition, int iter, std::vector<Bound>& out) {
  const auto* b = std::get_if<Binary>(&condition->value);
  if (b == nullptr || b->a->dtype != Dtype::kI64) return;
  if (b->op != BinaryOp::kLt && b->op != BinaryOp::kLe && b->op != BinaryOp::kEq) return;
  AffineAndRest a = ir::affine_and_rest(b->a), c = ir::affine_and_rest(b->b);
  for (const Expr& rest : {a.rest, c.rest})
    if (rest && iters_of(rest).contains(iter)) return;
  const std::int64_t of_a = a.affine.coef_of(iter), of_c = c.affine.coef_of(iter);
  const std::int64_t times = of_a < of_c ? of_c - of_a : of_a - of_c;
  if (times == 0 || times > kMostTimes) return;
  a.affine = a.affine + Affine::iter(iter) * -of_a;
  c.affine = c.affine + Affine::iter(iter) * -of_c;
  const bool above = of_a > of_c;
  if (b->op == BinaryOp::kLt) (above ? c : a).affine.offset += above ? -1 : 1;
  const Expr limit = above ? difference(c, a) : difference(a, c);
  if (b->op == BinaryOp::kEq || !above) out.push_back({rounded_up(limit, times), false});
  if (b->op == BinaryOp::kEq || above) out.push_back({rounded_down(limit, times), true});
}

// The value at a point; nothing where it depends on what only a run knows.
class Evaluator {
 public:
  Evaluator(const ir::Nest& nest, const std::vector<std::int64_t>& point)
      : nest_(nest), point_(point) {}

  std::optional<std::int64_t> of(const Expr& e) const {
    return std::visit([&](const auto& n) { return value(n, e); }, e->value);
  }

 private:
  using Value = std::optional<std::int64_t>;

  static Value value(const ir::Const& n, const Expr& e) {
    if (is_float(e->dtype)) return std::nullopt;
    return static_cast<std::int64_t>(n.value);
  }
  Value value(const ir::IterValue& n, const Expr&) const {
    return point_[static_cast<std::size_t>(n.iter)];
  }
  Value value(const ir::Read& n, const Expr& e) const {
    std::vector<std::int64_t> index;
    for (const Affine& row : n.index) {
      std::int64_t place = row.offset;
      for (const ir::AffineTerm& term : row.terms)
        place += term.coef * point_[static_cast<std::size_t>(term.iter)];
      index.push_back(place);
    }
    return element(n.tensor, index, e);
  }
  Value value(const ir::Lookup& n, const Expr& e) const {
    std::vector<std::int64_t> index;
    for (const Expr& row : n.index) {
      const Value place = of(row);
      if (!place) return place;
      index.push_back(*place);
    }
    return element(n.tensor, index, e);
  }
  Value element(int tensor, const std::vector<std::int64_t>& index, const Expr& e) const {
    const ir::Buffer& buffer = nest_.buffers[static_cast<std::size_t>(tensor)];
    if (buffer.literal.empty() || is_float(e->dtype)) return std::nullopt;
    std::int64_t place = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t size = nest_.sizes.constant_value(buffer.shape[d]);
      if (index[d] < 0 || index[d] >= size) return std::nullopt;
      place = place * size + index[d];
    }
    return static_cast<std::int64_t>(buffer.literal[static_cast<std::size_t>(place)]);
  }
  Value value(const ir::Unary& n, const Expr& e) const {
    const Value x = of(n.x);
    if (!x || e->dtype != Dtype::kI64) return std::nullopt;
    if (n.op == ir::UnaryOp::kNeg) return -*x;
    if (n.op == ir::UnaryOp::kAbs) return *x < 0 ? -*x : *x;
    return std::nullopt;
  }
  Value value(const Binary& n, const Expr& e) const {
    const Value a = of(n.a), b = of(n.b);
    if (!a || !b || n.a->dtype != Dtype::kI64) return std::nullopt;
    if (e->dtype != Dtype::kI64 && e->dtype != Dtype::kBool) return std::nullopt;
    switch (n.op) {
      case BinaryOp::kAdd: return *a + *b;
      case BinaryOp::kSub: return *a - *b;
      case BinaryOp::kMul: return *a * *b;
      case BinaryOp::kDiv: return *b > 0 ? Value(*a / *b) : std::nullopt;
      case BinaryOp::kMod: return *b > 0 ? Value(*a % *b) : std::nullopt;
      case BinaryOp::kMin: return std::min(*a, *b);
      case BinaryOp::kMax: return std::max(*a, *b);
      case BinaryOp::kLt: return *a < *b ? 1 : 0;
      case BinaryOp::kLe: return *a <= *b ? 1 : 0;
      case BinaryOp::kEq: return *a == *b ? 1 : 0;
      case BinaryOp::kNe: return *a != *b ? 1 : 0;
      default: return std::nullopt;
    }
  }
  Value value(const ir::Select& n, const Expr&) const {
    const Value condition = of(n.condition);
    if (!condition) return std::nullopt;
    return of(*condition != 0 ? n.then : n.otherwise);
  }
  Value value(const ir::Cast& n, const Expr& e) const {
    const Value x = of(n.x);
    const ir::IndexRange all = ir::numbers_of(e->dtype);
    if (!x || is_float(e->dtype) || is_float(n.x->dtype) || *x < all.low || *x > all.high)
      return std::nullopt;
    return x;
  }
  static Value value(const ir::InRange&, const Expr&) { return std::nullopt; }

  const ir::Nest& nest_;
  const std::vector<std::int64_t>& point_;
};

std::int64_t extent_of(const ir::Nest& nest, const ir::Block& block, int iter) {
  return nest.sizes.constant_value(block.iters[static_cast<std::size_t>(iter)].extent);
}

// The longest window, of all points of the iterators that decide it; nothing if they are too many
// or not known.
std::optional<std::int64_t> longest_by_points(const ir::Nest& nest, const ir::Block& block,
                                              std::int64_t extent,
                                              const std::vector<Bound>& bounds) {
  std::set<int> own;
  for (const Bound& bound : bounds) own.merge(iters_of(bound.limit));
  double points = 1;
  for (const int i : own) points *= static_cast<double>(extent_of(nest, block, i));
  if (points > kMostPoints) return std::nullopt;
  std::vector<std::int64_t> point(block.iters.size(), 0);
  const Evaluator evaluator(nest, point);
  std::int64_t longest = 1;
  const auto step = [&] {  // to the next point
    for (const int i : own) {
      if (++point[static_cast<std::size_t>(i)] < extent_of(nest, block, i)) return true;
      point[static_cast<std::size_t>(i)] = 0;
    }
    return false;
  };
  do {
    std::int64_t low = 0, high = extent - 1;
    for (const Bound& bound : bounds) {
      const auto limit = evaluator.of(bound.limit);
      if (!limit) return std::nullopt;
      if (bound.above) high = std::min(high, *limit);
      else low = std::max(low, *limit);
    }
    longest = std::max(longest, high - low + 1);
  } while (step());
  return longest;
}

// high - low, where what they have in common cancels out.
ir::IndexRange range_of_difference(const ir::Nest& nest, const ir::Block& block, const Expr& high,
                                   const Expr& low) {
  AffineAndRest a = ir::affine_and_rest(high), b = ir::affine_and_rest(low);
  if (a.rest && b.rest && ir::equal(a.rest, b.rest)) a.rest = b.rest = nullptr;
  return range_in(nest, block, difference(a, b));
}

std::int64_t longest_by_ranges(const ir::Nest& nest, const ir::Block& block, std::int64_t extent,
                               const std::vector<Bound>& bounds) {
  std::int64_t longest = extent;
  const auto shorten = [&](std::int64_t last) {  // windows have iterations 0 to last
    if (last < longest) longest = std::max<std::int64_t>(last + 1, 1);
  };
  for (const Bound& high : bounds) {
    const ir::IndexRange range = range_in(nest, block, high.limit);
    if (high.above) shorten(range.high);
    else if (range.low > 0) shorten(extent - 1 - std::min(range.low, extent - 1));
    for (const Bound& low : bounds)
      if (high.above && !low.above)
        shorten(range_of_difference(nest, block, high.limit, low.limit).high);
  }
  return std::min(longest, extent);
}

// The shortest window from a bound that is affine, over at most this share of the loop.
constexpr std::int64_t kAffinePart = 2;

std::optional<WindowOf> affine_window(const ir::Nest& nest, const ir::Block& block,
                                      std::int64_t extent, const std::vector<Bound>& bounds) {
  std::optional<WindowOf> best;
  for (const Bound& low : bounds) {
    if (low.above || ir::affine_and_rest(low.limit).rest || iters_of(low.limit).empty()) continue;
    for (const Bound& high : bounds) {
      if (!high.above) continue;
      const std::int64_t last = range_of_difference(nest, block, high.limit, low.limit).high;
      if (last < 0 || last >= extent / kAffinePart || (best && last + 1 >= best->length)) continue;
      best = WindowOf{ir::value_of(ir::affine_and_rest(low.limit).affine), last + 1, true};
    }
  }
  return best;
}

// A sum's terms are 0 where a factor that is read with `else 0` lies outside of its tensor. Of few
// taps that bounds nothing.
constexpr std::int64_t kLongAxis = 16;

void append_borders(const ir::Nest& nest, const ir::Block& block, int iter, const Expr& terms,
                    Conditions& found) {
  if (block.reduce != ir::ReduceOp::kSum || extent_of(nest, block, iter) < kLongAxis) return;
  for (const Expr& factor : factors_of(terms)) {
    const auto* read = std::get_if<ir::Read>(&factor->value);
    if (read == nullptr || read->pad != 0) continue;
    for (std::size_t d = 0; d < read->index.size(); ++d) {
      const Affine& row = read->index[d];
      if (row.coef_of(iter) == 0 || row.terms.size() < 2) continue;
      const std::int64_t size =
          nest.sizes.constant_value(nest.buffers[static_cast<std::size_t>(read->tensor)].shape[d]);
      const Expr place = ir::value_of(row);
      found.append(ir::binary(BinaryOp::kLe, whole_number(0), place), true);
      found.append(ir::binary(BinaryOp::kLt, place, whole_number(size)), true);
    }
  }
}

}  // namespace

std::optional<BoundedTerms> bounded_terms(const ir::Nest& nest, const ir::Block& block, int iter) {
  if (block.reduce == ir::ReduceOp::kNone) return std::nullopt;
  BoundedTerms out;
  std::vector<Expr> conditions;
  Conditions found(nest, block, iter, conditions);
  out.terms = without_conditions(block.body, block.reduce, found, conditions);
  append_borders(nest, block, iter, out.terms, found);
  for (const Expr& condition : conditions) {
    append_bounds(condition, iter, out.bounds);
    if (out.bounds.size() == out.bounding.size()) out.others.push_back(condition);
    else out.bounding.resize(out.bounds.size(), condition);
  }
  if (out.bounds.empty()) return std::nullopt;
  return out;
}

std::optional<Expr> condition_of(const ir::Nest& nest, const ir::Block& block, const Expr& e,
                                 const Bound& bound) {
  const Expr& low = bound.above ? e : bound.limit;
  const Expr& high = bound.above ? bound.limit : e;
  if (range_of_difference(nest, block, high, low).low >= 0) return std::nullopt;
  return ir::binary(BinaryOp::kLe, low, high);
}

Expr all_of(const std::vector<Expr>& conditions) {
  Expr all = conditions.front();
  for (std::size_t c = 1; c < conditions.size(); ++c)
    all = ir::binary(BinaryOp::kAnd, all, conditions[c]);
  return all;
}

ir::IndexRange range_in(const ir::Nest& nest, const ir::Block& block, const Expr& e) {
  const ir::KnownRanges known{
      [&](int iter) { return ir::IndexRange{0, extent_of(nest, block, iter) - 1}; },
      [&](int tensor, Dtype dtype) {
        return ir::range_of_elements(nest.buffers[static_cast<std::size_t>(tensor)].literal, dtype);
      }};
  return ir::range_of(e, known);
}

WindowOf window_of(const ir::Nest& nest, const ir::Block& block, int iter,
                   const std::vector<Bound>& bounds) {
  if (auto affine = affine_window(nest, block, extent_of(nest, block, iter), bounds))
    return *affine;
  return window_inside(nest, block, iter, bounds);
}

WindowOf window_inside(const ir::Nest& nest, const ir::Block& block, int iter,
                       const std::vector<Bound>& bounds) {
  const std::int64_t extent = extent_of(nest, block, iter);
  WindowOf out;
  for (const Bound& bound : bounds)
    if (!bound.above)
      out.start = out.start ? ir::binary(BinaryOp::kMax, out.start, bound.limit) : bound.limit;
  const Expr zero = ir::constant(0, Dtype::kI64);
  if (!out.start) out.start = zero;
  else if (range_in(nest, block, out.start).low < 0)
    out.start = ir::binary(BinaryOp::kMax, out.start, zero);
  const auto exact = longest_by_points(nest, block, extent, bounds);
  out.length = exact ? *exact : longest_by_ranges(nest, block, extent, bounds);
  return out;
}

}  // namespace lathe::schedule
