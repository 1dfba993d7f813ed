#include "compiler/codegen/llvm/quotients.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;

namespace {

bool is_zero(const Expr& e) {
  if (const auto* n = std::get_if<Broadcast>(&e->value)) return is_zero(n->x);
  const auto* n = std::get_if<FloatImm>(&e->value);
  return n != nullptr && n->value == 0;
}

bool decides(const Node& e) {
  if (const auto* n = std::get_if<Unary>(&e.value))
    return n->op == UnaryOp::kFloor || n->op == UnaryOp::kCeil || n->op == UnaryOp::kRound;
  if (const auto* n = std::get_if<Cast>(&e.value))
    return is_float(n->x->type.dtype) && !is_float(e.type.dtype);
  const auto* n = std::get_if<Binary>(&e.value);
  if (n == nullptr || !is_float(n->a->type.dtype)) return false;
  return n->op == BinaryOp::kMod || (yields_bool(n->op) && !is_zero(n->a) && !is_zero(n->b));
}

class DecisionFinder {
 public:
  bool visit(const Stmt& s) {
    bool found = false;
    each_part(
        *s, [&](const Expr& e) { found = found || visit(e, false); },
        [&](const Stmt& x) { found = found || visit(x); });
    return found;
  }

 private:
  bool visit(const Expr& e, bool decided) {
    if (!seen_[decided ? 1 : 0].insert(e.get()).second) return false;
    const auto* n = std::get_if<Binary>(&e->value);
    if (decided && n != nullptr && n->op == BinaryOp::kDiv && is_float(e->type.dtype)) return true;
    bool found = false;
    each_operand(*e, [&](const Expr& x) { found = found || visit(x, decided || decides(*e)); });
    return found;
  }
  std::unordered_set<const Node*> seen_[2];
};

}  // namespace

bool decides_by_quotients(const Program& program) {
  DecisionFinder finder;
  return std::ranges::any_of(program.kernels,
                             [&](const Kernel& kernel) { return finder.visit(kernel.body); });
}

bool is_given(const Program& program, const Expr& scalar) {
  if (const auto* n = std::get_if<Cast>(&scalar->value)) return is_given(program, n->x);
  if (std::holds_alternative<FloatImm>(scalar->value)) return true;
  const auto* load = std::get_if<Load>(&scalar->value);
  if (load == nullptr) return false;
  switch (program.buffers[static_cast<std::size_t>(load->buffer)].scope) {
    case Scope::kInput:
    case Scope::kLiteral:
    case Scope::kConstant: return true;
    case Scope::kOutput:
    case Scope::kGlobal:
    case Scope::kShared:
    case Scope::kThread:
    case Scope::kGroup: return false;
  }
  return false;
}

}  // namespace lathe::codegen
