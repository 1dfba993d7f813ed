#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

using flat::Expr;
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
  int operator[](int old) const { return new_of_[static_cast<std::size_t>(old)]; }
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
  flat::each_part(*s, [](const Expr&) {}, [&](const Stmt& inner) { number(inner, vars, regs); });
}

template <class OnExpr>
Stmt renamed(const Stmt& s, const Numbers& vars, const Numbers& regs, OnExpr& on_expr) {
  const auto on_stmt = [&](const Stmt& inner) { return renamed(inner, vars, regs, on_expr); };
  const auto loop = [&](const flat::For& n) {
    return flat::For{vars[n.var], on_expr(n.begin), on_expr(n.end), on_stmt(n.body)};
  };
  if (const auto* n = std::get_if<flat::For>(&s->value)) {
    flat::For out = loop(*n);
    return flat::for_loop(out.var, std::move(out.begin), std::move(out.end), std::move(out.body));
  }
  if (const auto* n = std::get_if<flat::Region>(&s->value)) {
    std::vector<flat::For> phases;
    for (const flat::For& phase : n->phases) phases.push_back(loop(phase));
    return flat::region(std::move(phases));
  }
  if (const auto* n = std::get_if<flat::Let>(&s->value))
    return flat::let(vars[n->var], on_expr(n->value));
  if (const auto* n = std::get_if<flat::RegWrite>(&s->value))
    return flat::reg_write(regs[n->reg], on_expr(n->value));
  if (const auto* n = std::get_if<flat::Exchange>(&s->value))
    return flat::exchange(regs[n->reg], on_expr(n->value), n->lane_mask);
  return flat::map_parts(s, on_expr, on_stmt);
}

}  // namespace

flat::Program renumber(flat::Program program, const Target&) {
  Numbers vars(program.vars.size()), regs(program.regs.size());
  for (const flat::Kernel& kernel : program.kernels) {
    for (const flat::Axis& axis : kernel.grid.axes()) vars.see(axis.var);
    number(kernel.body, vars, regs);
  }
  if (vars.is_identity() && regs.is_identity()) return program;
  flat::ExprRewriter on_expr([&](const Expr& e) {
    if (const auto* v = std::get_if<flat::Var>(&e->value); v != nullptr && vars[v->id] != v->id)
      return flat::var(vars[v->id]);
    if (const auto* r = std::get_if<flat::RegRead>(&e->value);
        r != nullptr && regs[r->reg] != r->reg)
      return flat::reg_read(regs[r->reg], e->type);
    return e;
  });
  for (flat::Kernel& kernel : program.kernels) {
    kernel.body = renamed(kernel.body, vars, regs, on_expr);
    for (auto* directions : {&kernel.grid.groups, &kernel.grid.items})
      for (flat::Axis& axis : *directions)
        if (axis.var >= 0) axis.var = vars[axis.var];
  }
  program.vars = vars.reordered(program.vars);
  program.regs = regs.reordered(program.regs);
  return program;
}

}  // namespace lathe::lower
