#include "compiler/ir/flat/fold.h"

#include <utility>

#include "compiler/ir/flat/make.h"

namespace lathe::flat {
namespace {

using U = std::uint64_t;
std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(U(a) + U(b));
}
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(U(a) * U(b));
}

Expr constant(std::int64_t value, Type type) {
  return broadcast(int_imm(value, type.dtype), type.lanes);
}

// e = dynamic + immediate; dynamic is null for an immediate.
struct Sum {
  Expr dynamic;
  std::int64_t immediate;
};
Sum split(const Expr& e) {
  if (const auto value = splat_int(e)) return {nullptr, *value};
  if (const auto* n = std::get_if<Binary>(&e->value); n != nullptr && n->op == BinaryOp::kAdd)
    if (const auto value = splat_int(n->b)) return {n->a, *value};
  return {e, 0};
}

Expr join(Expr dynamic, std::int64_t immediate, Type type) {
  if (!dynamic) return constant(immediate, type);
  if (wrap(immediate, type.dtype) == 0) return dynamic;
  if (const auto* r = std::get_if<Ramp>(&dynamic->value)) {
    Expr base = binary(BinaryOp::kAdd, r->base, int_imm(immediate, type.dtype));
    return ramp(std::move(base), r->stride, type.lanes);
  }
  if (const auto* b = std::get_if<Broadcast>(&dynamic->value))
    return broadcast(binary(BinaryOp::kAdd, b->x, int_imm(immediate, type.dtype)), type.lanes);
  return make(Binary{BinaryOp::kAdd, std::move(dynamic), constant(immediate, type)}, type);
}

// A vector of the form base + lane * stride with a scalar base.
struct Line {
  const Expr* base;
  std::int64_t stride;
};
std::optional<Line> as_line(const Expr& e) {
  if (const auto* r = std::get_if<Ramp>(&e->value)) return Line{&r->base, r->stride};
  if (const auto* b = std::get_if<Broadcast>(&e->value)) return Line{&b->x, 0};
  return std::nullopt;
}

// Joins dynamic parts: neither is an immediate or ends in one (except in the base of a line, which
// may).
Expr add_dynamic(const Expr& a, const Expr& b, BinaryOp op) {
  if (op == BinaryOp::kSub && equal(a, b)) return nullptr;
  if (a->type.lanes > 1) {
    const auto x = as_line(a), y = as_line(b);
    if (x && y) {
      const std::int64_t stride =
          wrap_add(x->stride, op == BinaryOp::kAdd ? y->stride : wrap_mul(y->stride, -1));
      return ramp(binary(op, *x->base, *y->base), stride, a->type.lanes);
    }
  }
  return make(Binary{op, a, b}, a->type);
}

Expr mul_dynamic(const Expr& a, std::int64_t factor) {
  const Type type = a->type;
  if (const auto* r = std::get_if<Ramp>(&a->value)) {
    Expr base = binary(BinaryOp::kMul, r->base, int_imm(factor, type.dtype));
    return ramp(std::move(base), wrap_mul(r->stride, factor), type.lanes);
  }
  if (const auto* n = std::get_if<Binary>(&a->value); n != nullptr && n->op == BinaryOp::kMul)
    if (const auto inner = splat_int(n->b)) {
      const std::int64_t product = wrap(wrap_mul(*inner, factor), type.dtype);
      if (product == 1) return n->a;
      if (product == 0) return nullptr;
      return make(Binary{BinaryOp::kMul, n->a, constant(product, type)}, type);
    }
  return make(Binary{BinaryOp::kMul, a, constant(factor, type)}, type);
}

Expr multiply(const Expr& a, std::int64_t factor) {
  if (factor == 0) return constant(0, a->type);
  if (factor == 1) return a;
  Sum s = split(a);
  if (s.dynamic) s.dynamic = mul_dynamic(s.dynamic, factor);
  return join(std::move(s.dynamic), wrap_mul(s.immediate, factor), a->type);
}

Expr add(const Expr& a, const Expr& b) {
  Sum s = split(a), t = split(b);
  if (!s.dynamic) s.dynamic = std::move(t.dynamic);
  else if (t.dynamic) s.dynamic = add_dynamic(s.dynamic, t.dynamic, BinaryOp::kAdd);
  return join(std::move(s.dynamic), wrap_add(s.immediate, t.immediate), a->type);
}

Expr subtract(const Expr& a, const Expr& b) {
  Sum s = split(a), t = split(b);
  if (t.dynamic)
    s.dynamic =
        s.dynamic ? add_dynamic(s.dynamic, t.dynamic, BinaryOp::kSub) : mul_dynamic(t.dynamic, -1);
  return join(std::move(s.dynamic), wrap_add(s.immediate, wrap_mul(t.immediate, -1)), a->type);
}

// Folds an operation of the constant `value` and x.
Expr fold_logic(BinaryOp op, const Expr& x, std::int64_t value) {
  if (op == BinaryOp::kAnd) return value != 0 ? x : constant(0, x->type);
  if (op == BinaryOp::kOr) return value != 0 ? constant(1, x->type) : x;
  if (value != 0) return nullptr;
  if (op == BinaryOp::kBitAnd) return constant(0, x->type);
  if (op == BinaryOp::kBitOr || op == BinaryOp::kBitXor) return x;
  return nullptr;
}

Expr fold_equal(BinaryOp op, const Expr& x) {
  const Type condition{Dtype::kBool, x->type.lanes};
  switch (op) {
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr: return x;
    case BinaryOp::kLe:
    case BinaryOp::kEq: return constant(1, condition);
    case BinaryOp::kLt:
    case BinaryOp::kNe: return constant(0, condition);
    case BinaryOp::kBitXor: return constant(0, x->type);
    default: return nullptr;
  }
}

}  // namespace

std::int64_t wrap(std::int64_t value, Dtype dtype) {
  switch (dtype) {
    case Dtype::kI8: return static_cast<std::int8_t>(value);
    case Dtype::kU8: return static_cast<std::uint8_t>(value);
    case Dtype::kI16: return static_cast<std::int16_t>(value);
    case Dtype::kU16: return static_cast<std::uint16_t>(value);
    case Dtype::kU32: return static_cast<std::uint32_t>(value);
    case Dtype::kI32: return static_cast<std::int32_t>(value);
    case Dtype::kBool: return value != 0;
    default: return value;
  }
}

std::optional<std::int64_t> evaluate(BinaryOp op, std::int64_t a, std::int64_t b, Dtype dtype) {
  const int bits = size_of(dtype) * 8;
  const U mask = bits == 64 ? ~U{0} : (U{1} << bits) - 1;
  const auto result = [&](U value) { return wrap(static_cast<std::int64_t>(value), dtype); };
  switch (op) {
    case BinaryOp::kAdd: return result(U(a) + U(b));
    case BinaryOp::kSub: return result(U(a) - U(b));
    case BinaryOp::kMul: return result(U(a) * U(b));
    case BinaryOp::kDiv:
      return b == 0 ? std::nullopt : std::optional(b == -1 ? result(-U(a)) : a / b);
    case BinaryOp::kMod: return b == 0 ? std::nullopt : std::optional(b == -1 ? 0 : a % b);
    case BinaryOp::kMin: return a < b ? a : b;
    case BinaryOp::kMax: return a > b ? a : b;
    case BinaryOp::kPow:
    case BinaryOp::kScale: return std::nullopt;
    case BinaryOp::kLt: return a < b;
    case BinaryOp::kLe: return a <= b;
    case BinaryOp::kEq: return a == b;
    case BinaryOp::kNe: return a != b;
    case BinaryOp::kAnd: return a != 0 && b != 0;
    case BinaryOp::kOr: return a != 0 || b != 0;
    case BinaryOp::kBitAnd: return a & b;
    case BinaryOp::kBitOr: return a | b;
    case BinaryOp::kBitXor: return a ^ b;
    case BinaryOp::kShl:
      if (b < 0 || b >= bits) return std::nullopt;
      return result(U(a) << b);
    case BinaryOp::kShr:
      if (b < 0 || b >= bits) return std::nullopt;
      return result((U(a) & mask) >> b);
    case BinaryOp::kSar:
      if (b < 0 || b >= bits) return std::nullopt;
      return a >> b;
  }
  return std::nullopt;
}

Expr fold_int(BinaryOp op, const Expr& a, const Expr& b) {
  const auto x = splat_int(a), y = splat_int(b);
  if (x && y) {
    const auto value = evaluate(op, *x, *y, a->type.dtype);
    if (!value) return nullptr;
    return constant(*value, {yields_bool(op) ? Dtype::kBool : a->type.dtype, a->type.lanes});
  }
  if (op == BinaryOp::kAdd) return add(a, b);
  if (op == BinaryOp::kSub) return subtract(a, b);
  if (op == BinaryOp::kMul && y) return multiply(a, *y);
  if (op == BinaryOp::kMul && x) return multiply(b, *x);
  if (y == 1 && op == BinaryOp::kDiv) return a;
  if (y == 1 && op == BinaryOp::kMod) return constant(0, a->type);
  if (y == 0 && (op == BinaryOp::kShl || op == BinaryOp::kShr || op == BinaryOp::kSar)) return a;
  if (y)
    if (Expr folded = fold_logic(op, a, *y)) return folded;
  if (x)
    if (Expr folded = fold_logic(op, b, *x)) return folded;
  return equal(a, b) ? fold_equal(op, a) : nullptr;
}

Expr fold_float(BinaryOp op, const Expr& a, const Expr& b) {
  const auto is_one = [](const Expr& e) {
    const auto* broadcast = std::get_if<Broadcast>(&e->value);
    const auto* f = std::get_if<FloatImm>(&(broadcast != nullptr ? broadcast->x : e)->value);
    return f != nullptr && f->value == 1;
  };
  if ((op == BinaryOp::kMul || op == BinaryOp::kDiv) && is_one(b)) return a;
  if (op == BinaryOp::kMul && is_one(a)) return b;
  return nullptr;
}

}  // namespace lathe::flat
