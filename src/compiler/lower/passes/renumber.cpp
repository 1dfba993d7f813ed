#include "compiler/ir/flat/rename.h"
#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

using flat::Stmt;

// Gives out new numbers in order of first appearance.
class Numbers {
 public:
  explicit Numbers(std::size_t count) : new_of_(count, -1) {}
  void see(int old) {
    int& number = new_of_[static_cast<std::size_t>(old)];
    if (number >= 0) return;
    number = static_cast<int>(order_.size());
    order_.push_back(old);
  }
  // By the old ones; -1: it did not appear.
  const std::vector<int>& new_numbers() const { return new_of_; }
  bool is_identity() const {
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (order_[i] != static_cast<int>(i)) return false;
    return order_.size() == new_of_.size();
  }
  template <class T>
  std::vector<T> reordered(const std::vector<T>& old) const {
    std::vector<T> out;
    for (const int i : order_) out.push_back(old[static_cast<std::size_t>(i)]);
    return out;
  }

 private:
  std::vector<int> new_of_, order_;
};

// A register appears first where it is written: a program reads none before.
void number(const Stmt& s, Numbers& vars, Numbers& regs) {
  if (const auto* n = std::get_if<flat::For>(&s->value)) vars.see(n->var);
  if (const auto* n = std::get_if<flat::Region>(&s->value))
    for (const flat::For& phase : n->phases) vars.see(phase.var);
  if (const auto* n = std::get_if<flat::Let>(&s->value)) vars.see(n->var);
  if (const auto* n = std::get_if<flat::RegWrite>(&s->value)) regs.see(n->reg);
  if (const auto* n = std::get_if<flat::Exchange>(&s->value)) regs.see(n->reg);
  flat::each_part(
      *s, [](const flat::Expr&) {}, [&](const Stmt& inner) { number(inner, vars, regs); });
}

}  // namespace

flat::Program renumber(flat::Program program, const Target&) {
  Numbers vars(program.vars.size()), regs(program.regs.size());
  for (const flat::Kernel& kernel : program.kernels) {
    for (const flat::Axis& axis : kernel.grid.axes()) vars.see(axis.var);
    number(kernel.body, vars, regs);
  }
  if (vars.is_identity() && regs.is_identity()) return program;
  flat::rename(program.kernels, {vars.new_numbers(), regs.new_numbers(), {}});
  program.vars = vars.reordered(program.vars);
  program.regs = regs.reordered(program.regs);
  return program;
}

}  // namespace lathe::lower
