#include "compiler/ir/expr/padding.h"

namespace lathe::ir {
namespace {

// True if the read is a factor of the whole expression, casts aside.
bool is_factor(const Expr& e, const void* padded) {
  if (padded_read_of(e).node == padded) return true;
  if (const auto* c = std::get_if<Cast>(&e->value)) return is_factor(c->x, padded);
  const auto* b = std::get_if<Binary>(&e->value);
  return b != nullptr && b->op == BinaryOp::kMul &&
         (is_factor(b->a, padded) || is_factor(b->b, padded));
}

}  // namespace

PaddedRead padded_read_of(const Expr& e) {
  if (const auto* read = std::get_if<Read>(&e->value); read != nullptr && read->pad)
    return {read, read->pad};
  const auto* select = std::get_if<Select>(&e->value);
  if (select == nullptr || !std::holds_alternative<InRange>(select->condition->value)) return {};
  const auto* outside = std::get_if<Const>(&select->otherwise->value);
  return {select, outside == nullptr ? std::nullopt : std::optional(outside->value)};
}

bool kills(ReduceOp reduce, const Expr& body, const PaddedRead& padded) {
  if (!padded.outside) return false;
  switch (reduce) {
    case ReduceOp::kSum: return *padded.outside == 0 && is_factor(body, padded.node);
    case ReduceOp::kMax:
    case ReduceOp::kMin:
      return *padded.outside == identity_of(reduce, body->dtype) &&
             padded_read_of(body).node == padded.node;
    case ReduceOp::kProd:
    case ReduceOp::kNone: return false;
  }
  return false;
}

bool pad_kills(ReduceOp reduce, const Expr& body, const Read* read) {
  return kills(reduce, body, {read, read->pad});
}

}  // namespace lathe::ir
