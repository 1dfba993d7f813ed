#include "oracle/flat_indices.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::interp {
namespace {

using flat::BinaryOp;
using flat::Expr;

std::int64_t apply(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kMod: return a % b;
    case BinaryOp::kMin: return std::min(a, b);
    case BinaryOp::kMax: return std::max(a, b);
    case BinaryOp::kLt: return a < b;
    case BinaryOp::kLe: return a <= b;
    case BinaryOp::kEq: return a == b;
    case BinaryOp::kNe: return a != b;
    case BinaryOp::kAnd: return a != 0 && b != 0;
    case BinaryOp::kOr: return a != 0 || b != 0;
    case BinaryOp::kBitAnd: return a & b;
    case BinaryOp::kBitOr: return a | b;
    case BinaryOp::kBitXor: return a ^ b;
    case BinaryOp::kShl: return a << b;
    case BinaryOp::kShr:
    case BinaryOp::kSar: return a >> b;
    default: throw std::logic_error("no operation on indices");
  }
}

// Finds it once for each node.
template <class F>
bool known_or(std::unordered_map<const flat::Node*, bool>& known, const Expr& e, const F& find) {
  if (const auto found = known.find(e.get()); found != known.end()) return found->second;
  const bool value = find();
  known.emplace(e.get(), value);
  return value;
}

}  // namespace

Lanes Indices::lanes(const Expr& e) const {
  const auto n = static_cast<std::size_t>(e->type.lanes);
  Lanes out(n);
  if (const auto* i = std::get_if<flat::IntImm>(&e->value)) return {i->value};
  if (const auto* v = std::get_if<flat::Var>(&e->value)) return {vars_.at(v->id)};
  if (const auto* b = std::get_if<flat::Broadcast>(&e->value)) return Lanes(n, scalar(b->x));
  if (const auto* c = std::get_if<flat::Cast>(&e->value)) return lanes(c->x);
  if (const auto* r = std::get_if<flat::Ramp>(&e->value)) {
    for (std::size_t l = 0; l < n; ++l)
      out[l] = scalar(r->base) + r->stride * static_cast<std::int64_t>(l);
  } else if (const auto* u = std::get_if<flat::Unary>(&e->value)) {
    const Lanes x = lanes(u->x);
    for (std::size_t l = 0; l < n; ++l)
      out[l] = u->op == flat::UnaryOp::kNot   ? x[l] == 0
               : u->op == flat::UnaryOp::kAbs ? std::abs(x[l])
                                              : -x[l];
  } else if (const auto* s = std::get_if<flat::Select>(&e->value)) {
    const Lanes c = lanes(s->condition), t = lanes(s->then), o = lanes(s->otherwise);
    for (std::size_t l = 0; l < n; ++l) out[l] = c[c.size() == 1 ? 0 : l] != 0 ? t[l] : o[l];
  } else if (const auto* b = std::get_if<flat::Binary>(&e->value)) {
    const Lanes x = lanes(b->a), y = lanes(b->b);
    for (std::size_t l = 0; l < n; ++l) out[l] = apply(b->op, x[l], y[l]);
  } else {
    throw std::logic_error("not an index");
  }
  return out;
}

bool Indices::reads_data(const Expr& e) {
  return known_or(reads_data_, e, [&] {
    const auto* cast = std::get_if<flat::Cast>(&e->value);
    bool reads = is_one_of<flat::Load, flat::RegRead, flat::Bitcast>(e) ||
                 (cast != nullptr && is_float(cast->x->type.dtype));
    flat::each_operand(*e, [&](const Expr& x) { reads = reads || reads_data(x); });
    return reads;
  });
}

bool Indices::has_real(const Expr& e) {
  return known_or(has_real_, e, [&] {
    bool real = is_float(e->type.dtype);
    flat::each_operand(*e, [&](const Expr& x) { real = real || has_real(x); });
    return real;
  });
}

}  // namespace lathe::interp
