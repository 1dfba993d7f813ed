#include "compiler/ir/expr/padding.h"

namespace lathe::ir {
namespace {

// A factor of the whole expression, casts aside.
bool is_factor(const Expr& e, const Read* read) {
  if (const auto* r = std::get_if<Read>(&e->value)) return r == read;
  if (const auto* c = std::get_if<Cast>(&e->value)) return is_factor(c->x, read);
  const auto* b = std::get_if<Binary>(&e->value);
  return b != nullptr && b->op == BinaryOp::kMul && (is_factor(b->a, read) || is_factor(b->b, read));
}

}  // namespace

bool pad_kills(ReduceOp reduce, const Expr& body, const Read* read) {
  switch (reduce) {
    case ReduceOp::kSum: return *read->pad == 0 && is_factor(body, read);
    case ReduceOp::kMax:
    case ReduceOp::kMin: return *read->pad == identity_of(reduce, body->dtype) && std::get_if<Read>(&body->value) == read;
    case ReduceOp::kProd:
    case ReduceOp::kNone: return false;
  }
  return false;
}

}  // namespace lathe::ir
