#include "compiler/codegen/llvm/exact_divisions.h"

#include <utility>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;

namespace {

bool jumps(const Node& e) {
  if (const auto* n = std::get_if<Unary>(&e.value))
    return n->op == UnaryOp::kFloor || n->op == UnaryOp::kCeil;
  if (const auto* n = std::get_if<Cast>(&e.value))
    return is_float(n->x->type.dtype) && !is_float(e.type.dtype);
  const auto* n = std::get_if<Binary>(&e.value);
  return n != nullptr && (yields_bool(n->op) || n->op == BinaryOp::kMod);
}

class DivisionFinder {
 public:
  void visit(const Stmt& s) {
    each_part(*s, [this](const Expr& e) { visit(e, false); }, [this](const Stmt& x) { visit(x); });
  }
  std::unordered_set<const Node*> found() && { return std::move(found_); }

 private:
  void visit(const Expr& e, bool decides) {
    if (!seen_[decides ? 1 : 0].insert(e.get()).second) return;
    const auto* n = std::get_if<Binary>(&e->value);
    if (decides && n != nullptr && n->op == BinaryOp::kDiv) found_.insert(e.get());
    decides = decides || jumps(*e);
    each_operand(*e, [&](const Expr& x) { visit(x, decides); });
  }
  std::unordered_set<const Node*> seen_[2], found_;
};

}  // namespace

std::unordered_set<const Node*> exact_divisions(const Program& program) {
  DivisionFinder finder;
  for (const Kernel& kernel : program.kernels) finder.visit(kernel.body);
  return std::move(finder).found();
}

}  // namespace lathe::codegen
