// Neighbouring vectors of a long formula, as of erf: each is a chain of operations that wait for
// each other, and a processor looks ahead over a few of them only. So two are computed in turns.
#include <algorithm>
#include <unordered_set>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;

namespace {

constexpr std::size_t kLong = 24;     // operations of a formula that is worth it
constexpr std::size_t kTogether = 2;  // more would not leave room for the constants in registers

// The vectors that a value is computed by, operands first, and the buffers that are read.
struct Formula {
  std::vector<Expr> steps;
  std::vector<int> reads;
};

class Finder {
 public:
  Formula of(const Store& store) {
    visit(store.value);
    visit(store.index);
    if (store.mask) visit(store.mask);
    return std::move(formula_);
  }

 private:
  void visit(const Expr& e) {
    if (!seen_.insert(e.get()).second) return;
    if (const auto* load = std::get_if<Load>(&e->value)) formula_.reads.push_back(load->buffer);
    each_operand(*e, [&](const Expr& x) { visit(x); });
    // What is inside of a broadcast may be moved out of loops as a whole.
    const Dtype dtype = e->type.dtype;
    if (e->type.lanes > 1 && dtype != Dtype::kI64 && dtype != Dtype::kBool &&
        !std::holds_alternative<Broadcast>(e->value))
      formula_.steps.push_back(e);
  }
  std::unordered_set<const Node*> seen_;
  Formula formula_;
};

}  // namespace

// How many of the first statements are computed together: 1 if it is not worth it, or if a later
// one may read what an earlier one writes.
std::size_t FunctionEmitter::together_from(std::span<const Stmt> stmts) const {
  const auto* first = std::get_if<Store>(&stmts[0]->value);
  if (m_.machine.on_grid || first == nullptr || first->value->type.lanes == 1 ||
      stmts.size() < kTogether)
    return 1;
  const std::size_t steps = Finder().of(*first).steps.size();
  if (steps < kLong) return 1;
  for (const Stmt& stmt : stmts.subspan(1, kTogether - 1)) {
    const auto* store = std::get_if<Store>(&stmt->value);
    if (store == nullptr || store->value->type != first->value->type) return 1;
    const Formula formula = Finder().of(*store);
    const auto& buffers = m_.program.buffers;
    const Buffer& written = buffers[static_cast<std::size_t>(first->buffer)];
    if (formula.steps.size() != steps || std::ranges::any_of(formula.reads, [&](int read) {
          return read == first->buffer ||
                 may_alias(written, buffers[static_cast<std::size_t>(read)]);
        }))
      return 1;
  }
  return kTogether;
}

void FunctionEmitter::emit_together(std::span<const Stmt> stmts) {
  memo_.clear();
  std::vector<Formula> formulas;
  for (const Stmt& stmt : stmts) formulas.push_back(Finder().of(std::get<Store>(stmt->value)));
  for (std::size_t step = 0; step < formulas[0].steps.size(); ++step)
    for (const Formula& formula : formulas) {
      const Expr& e = formula.steps[step];
      memo_.emplace(e.get(), std::pair(e, value(e)));
    }
  for (const Stmt& stmt : stmts) emit(stmt);  // what was computed in turns is found again
}

}  // namespace lathe::codegen
