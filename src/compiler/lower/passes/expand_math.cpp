// Replaces elementary functions by the formulas of math.h.
#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/passes/math.h"
#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

using flat::Expr;
using flat::UnaryOp;

bool is_expanded(UnaryOp op, const Abilities& able) {
  switch (op) {
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kRsqrt:
    case UnaryOp::kTanh:
    case UnaryOp::kErf:
    case UnaryOp::kSigmoid:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan:
    case UnaryOp::kLog1p:
    case UnaryOp::kExpm1: return true;
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound: return !able.rounding;
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kSqrt:
    case UnaryOp::kNot:
    case UnaryOp::kSign:
    case UnaryOp::kBitNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: return false;
  }
  return false;
}

// True of min(c, x) with a number c <= 0.
bool is_not_positive(const V& x) {
  const auto* n = std::get_if<flat::Binary>(&x.e->value);
  if (n == nullptr || n->op != flat::BinaryOp::kMin) return false;
  const auto bounds = [](const Expr& e) {
    const auto* splat = std::get_if<flat::Broadcast>(&e->value);
    const auto* c = std::get_if<flat::FloatImm>(&(splat != nullptr ? splat->x : e)->value);
    return c != nullptr && c->value <= 0;
  };
  return bounds(n->a) || bounds(n->b);
}

V expand(UnaryOp op, const V& x, const Abilities& able) {
  switch (op) {
    case UnaryOp::kExp:
      return is_not_positive(x) ? expand_exp_of_negative(x, able) : expand_exp(x, able);
    case UnaryOp::kLog: return expand_log(x);
    case UnaryOp::kRsqrt: return 1 / sqrt(x);
    case UnaryOp::kTanh: return expand_tanh(x);
    case UnaryOp::kErf: return expand_erf(x, able);
    case UnaryOp::kSigmoid: return expand_sigmoid(x, able);
    case UnaryOp::kFloor: return expand_floor(x);
    case UnaryOp::kCeil: return neg(expand_floor(neg(x)));
    case UnaryOp::kRound: return expand_round(x);
    case UnaryOp::kSin: return expand_sin(x, able);
    case UnaryOp::kCos: return expand_cos(x, able);
    case UnaryOp::kTan: return expand_tan(x, able);
    case UnaryOp::kLog1p: return expand_log1p(x);
    case UnaryOp::kExpm1: return expand_expm1(x);
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kSqrt:
    case UnaryOp::kNot:
    case UnaryOp::kSign:
    case UnaryOp::kBitNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: break;
  }
  return apply(op, x);
}

// x^y for the small constants y that programs often have.
Expr small_power(const flat::Binary& n) {
  const auto* splat = std::get_if<flat::Broadcast>(&n.b->value);
  const auto* y = std::get_if<flat::FloatImm>(&(splat != nullptr ? splat->x : n.b)->value);
  if (y == nullptr) return nullptr;
  const V x{n.a};
  if (y->value == 1) return x.e;
  if (y->value == 2) return (x * x).e;
  if (y->value == 3) return (x * x * x).e;
  if (y->value == -1) return (1 / x).e;
  return nullptr;
}

}  // namespace

flat::Program expand_math(flat::Program program, const Target& target) {
  const Abilities able = target.abilities();
  const auto expand_node = [able](const Expr& e) -> Expr {
    if (const auto* n = std::get_if<flat::Unary>(&e->value);
        n != nullptr && is_expanded(n->op, able)) {
      LATHE_CHECK(size_of(e->type.dtype) >= 4, "expand_math comes after promote_halves");
      return expand(n->op, {n->x}, able).e;
    }
    if (const auto* n = std::get_if<flat::Binary>(&e->value);
        n != nullptr && n->op == flat::BinaryOp::kPow) {
      LATHE_CHECK(size_of(e->type.dtype) >= 4, "expand_math comes after promote_halves");
      if (Expr power = small_power(*n)) return power;
      return expand_pow({n->a}, {n->b}, able).e;
    }
    return e;
  };
  return flat::rewrite_exprs(std::move(program), expand_node, flat::contents::kMath);
}

}  // namespace lathe::lower
