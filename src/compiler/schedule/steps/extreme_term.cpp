#include "compiler/schedule/steps/extreme_term.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lathe::schedule {
namespace {

using ir::Binary;
using ir::BinaryOp;
using ir::Expr;
using ir::ReduceOp;
using ir::Unary;
using ir::UnaryOp;

constexpr double kInf = std::numeric_limits<double>::infinity();

// True if the conversion changes no value.
bool is_wider(Dtype to, Dtype from) {
  const bool integers =
      !is_float(to) && !is_float(from) && !is_unsigned(to) && from != Dtype::kBool;
  return size_of(to) > size_of(from) && (integers || (is_float(to) && is_float(from)));
}

// The value before conversions that change no value.
const Expr& unconverted(const Expr& e) {
  const auto* converted = std::get_if<ir::Cast>(&e->value);
  return converted != nullptr && is_wider(e->dtype, converted->x->dtype) ? unconverted(converted->x)
                                                                         : e;
}

const Binary* binary_of(const Expr& e, BinaryOp op) {
  const auto* b = std::get_if<Binary>(&e->value);
  return b != nullptr && b->op == op ? b : nullptr;
}
const Unary* unary_of(const Expr& e, UnaryOp op) {
  const auto* u = std::get_if<Unary>(&e->value);
  return u != nullptr && u->op == op ? u : nullptr;
}
bool is_constant(const Expr& e, double value) {
  const auto* c = std::get_if<ir::Const>(&e->value);
  return c != nullptr && c->value == value;
}

// x of min(0, x), which is x where it is the difference of an element and the maximum.
const Expr& unbounded(const Expr& e) {
  const Binary* least = binary_of(e, BinaryOp::kMin);
  return least != nullptr && is_constant(least->a, 0) ? least->b : e;
}

class Recogniser {
 public:
  explicit Recogniser(const Extreme& extreme) : extreme_(extreme) {}

  std::optional<ExtremeTerm> exponential(const Expr& body) {
    if (!is_float(body->dtype) || !depends(body) || !scales(body)) return std::nullopt;
    ExtremeTerm term{relative(body, !guarded_), true, guarded_, false, nullptr};
    return term;
  }

  std::optional<ExtremeTerm> selection(const Expr& body, ReduceOp reduce) {
    const auto* s = std::get_if<ir::Select>(&body->value);
    if (s == nullptr || depends(s->then)) return std::nullopt;
    const auto* other = std::get_if<ir::Const>(&s->otherwise->value);
    const bool neutral = reduce == ReduceOp::kMin || reduce == ReduceOp::kMax ||
                         (reduce == ReduceOp::kSum && other != nullptr && other->value == 0);
    if (other == nullptr || !neutral || !selects(s->condition) || equalities_ != 1)
      return std::nullopt;
    return ExtremeTerm{relative(body, false), false, false, keeps_nan_, s->otherwise};
  }

 private:
  bool depends(const Expr& e) const {
    const std::vector<int> read = ir::tensors_of(e);
    return std::ranges::find(read, extreme_.buffer) != read.end();
  }
  bool is_element(const Expr& e) const {
    return ir::equal(unconverted(e), unconverted(extreme_.element));
  }
  // The extreme may come back in the type of the elements, which it is one of.
  bool is_extreme(const Expr& e) const {
    const Expr& value = unconverted(e);
    if (const auto* back = std::get_if<ir::Cast>(&value->value))
      return value->dtype == unconverted(extreme_.element)->dtype && is_extreme(back->x);
    const auto* read = std::get_if<ir::Read>(&value->value);
    return read != nullptr && read->tensor == extreme_.buffer;
  }
  // select(abs(extreme) < inf, extreme, 0)
  bool is_guarded(const Expr& e) const {
    const auto* s = std::get_if<ir::Select>(&unconverted(e)->value);
    if (s == nullptr || !is_extreme(s->then) || !is_constant(s->otherwise, 0)) return false;
    const Binary* less = binary_of(s->condition, BinaryOp::kLt);
    if (less == nullptr || !is_constant(less->b, kInf)) return false;
    const Unary* size = unary_of(unconverted(less->a), UnaryOp::kAbs);
    return size != nullptr && is_extreme(size->x);
  }

  // True if the term is exp(element - maximum), or exp(minimum - element), times something that
  // does not depend on the extreme.
  bool scales(const Expr& e) {
    if (const Unary* u = unary_of(e, UnaryOp::kExp)) return is_difference(unbounded(u->x));
    if (const Unary* u = unary_of(e, UnaryOp::kNeg)) return scales(u->x);
    if (const Binary* b = binary_of(e, BinaryOp::kDiv)) return !depends(b->b) && scales(b->a);
    if (const Binary* b = binary_of(e, BinaryOp::kMul))
      return depends(b->a) ? !depends(b->b) && scales(b->a) : scales(b->b);
    const Expr& inner = unconverted(e);
    return inner != e && scales(inner);
  }

  bool is_difference(const Expr& e) {
    const Binary* b = binary_of(unconverted(e), BinaryOp::kSub);
    if (b == nullptr) return false;
    const bool most = extreme_.op == ReduceOp::kMax;
    const Expr &element = most ? b->a : b->b, &extreme = most ? b->b : b->a;
    const bool guarded = is_guarded(extreme);
    if (!is_element(element) || (!guarded && !is_extreme(extreme))) return false;
    guarded_ = guarded;
    return true;
  }

  bool selects(const Expr& condition) {
    if (const Binary* either = binary_of(condition, BinaryOp::kOr))
      return selects(either->a) && selects(either->b);
    if (const Binary* b = binary_of(condition, BinaryOp::kNe)) {
      keeps_nan_ = true;
      return is_element(b->a) && is_element(b->b);
    }
    const Binary* b = binary_of(condition, BinaryOp::kEq);
    ++equalities_;
    return b != nullptr &&
           ((is_element(b->a) && is_extreme(b->b)) || (is_element(b->b) && is_extreme(b->a)));
  }

  // With the extreme of the part. Of a part without anything but the lowest number the exponentials
  // are 0, not those of infinity minus infinity.
  Expr relative(const Expr& body, bool guard) const {
    Expr own = extreme_.part;
    if (guard) {
      const double lowest = extreme_.op == ReduceOp::kMax ? -kInf : kInf;
      own = ir::select(ir::binary(BinaryOp::kEq, own, ir::constant(lowest, own->dtype)),
                       ir::constant(0, own->dtype), own);
    }
    return ir::rewrite_leaves(body, [&](const Expr& leaf) {
      const auto* read = std::get_if<ir::Read>(&leaf->value);
      return read != nullptr && read->tensor == extreme_.buffer ? own : leaf;
    });
  }

  const Extreme& extreme_;
  int equalities_ = 0;
  bool guarded_ = false, keeps_nan_ = false;
};

}  // namespace

std::optional<ExtremeTerm> extreme_term_of(const Expr& body, ReduceOp reduce,
                                           const Extreme& extreme) {
  if (reduce == ReduceOp::kSum)
    if (auto term = Recogniser(extreme).exponential(body)) return term;
  return Recogniser(extreme).selection(body, reduce);
}

Expr contribution(const ExtremeTerm& term, ReduceOp extreme, const Expr& partial, const Expr& own,
                  const Expr& all) {
  if (!term.exponential) {
    Expr same = ir::binary(BinaryOp::kEq, own, all);
    if (term.keeps_nan) same = ir::binary(BinaryOp::kOr, same, ir::binary(BinaryOp::kNe, own, own));
    return ir::select(same, partial, ir::cast(term.otherwise, partial->dtype));
  }
  Expr whole = all;
  if (term.guarded)
    whole = ir::select(
        ir::binary(BinaryOp::kLt, ir::unary(UnaryOp::kAbs, all), ir::constant(kInf, all->dtype)),
        all, ir::constant(0, all->dtype));
  const Expr part = ir::cast(own, partial->dtype);
  whole = ir::cast(whole, partial->dtype);
  const Expr difference = extreme == ReduceOp::kMax ? ir::binary(BinaryOp::kSub, part, whole)
                                                    : ir::binary(BinaryOp::kSub, whole, part);
  return ir::binary(BinaryOp::kMul, partial, ir::unary(UnaryOp::kExp, difference));
}

}  // namespace lathe::schedule
