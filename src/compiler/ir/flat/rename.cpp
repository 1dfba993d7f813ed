#include "compiler/ir/flat/rename.h"

#include <unordered_map>
#include <utility>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::flat {
namespace {

int number_in(const std::vector<int>& numbers, int old) {
  return numbers.empty() ? old : numbers[static_cast<std::size_t>(old)];
}

class Renamer {
 public:
  explicit Renamer(const Renaming& to) : to_(to) {}

  Kernel operator()(Kernel kernel) {
    kernel.body = stmt(kernel.body);
    for (auto* directions : {&kernel.grid.groups, &kernel.grid.items})
      for (Axis& axis : *directions)
        if (axis.var >= 0) axis.var = var(axis.var);
    return kernel;
  }

 private:
  int var(int old) const { return number_in(to_.vars, old); }
  int reg(int old) const { return number_in(to_.regs, old); }
  int buffer(int old) const { return number_in(to_.buffers, old); }
  std::int64_t shift(int old) const {
    return to_.shifts.empty() ? 0 : to_.shifts[static_cast<std::size_t>(old)];
  }
  Expr index(int old, const Expr& of) {
    Expr renamed_index = expr_(of);
    if (shift(old) == 0) return renamed_index;
    const auto by = static_cast<double>(shift(old));
    return binary(BinaryOp::kAdd, renamed_index, imm(by, renamed_index->type));
  }
  Expr optional(const Expr& e) { return e ? expr_(e) : nullptr; }

  // Not by ExprRewriter: where two buffers become one, an operation may fold to one of its
  // operands, which would be renamed twice.
  struct Expressions {
    Renamer& r;
    std::unordered_map<const Node*, std::pair<Expr, Expr>> done;  // keeps the key alive
    Expr operator()(const Expr& e) {
      if (const auto known = done.find(e.get()); known != done.end()) return known->second.second;
      Expr out = r.renamed(e);
      if (e.use_count() > 1) done.emplace(e.get(), std::pair(e, out));
      return out;
    }
  };
  Expr renamed(const Expr& e) {
    if (const auto* v = std::get_if<Var>(&e->value))
      return var(v->id) == v->id ? e : flat::var(var(v->id));
    if (const auto* r = std::get_if<RegRead>(&e->value))
      return reg(r->reg) == r->reg ? e : reg_read(reg(r->reg), e->type);
    const auto* l = std::get_if<Load>(&e->value);
    if (l == nullptr || (buffer(l->buffer) == l->buffer && shift(l->buffer) == 0))
      return map_operands(e, expr_);
    return load(buffer(l->buffer), index(l->buffer, l->index), e->type, optional(l->mask));
  }

  For loop(const For& n) { return {var(n.var), expr_(n.begin), expr_(n.end), stmt(n.body)}; }

  struct Visitor {
    Renamer& r;
    const Stmt& s;
    Stmt operator()(const For& n) const {
      For out = r.loop(n);
      return for_loop(out.var, std::move(out.begin), std::move(out.end), std::move(out.body));
    }
    Stmt operator()(const Region& n) const {
      std::vector<For> phases;
      for (const For& phase : n.phases) phases.push_back(r.loop(phase));
      return region(std::move(phases));
    }
    Stmt operator()(const Let& n) const { return let(r.var(n.var), r.expr_(n.value)); }
    Stmt operator()(const RegWrite& n) const { return reg_write(r.reg(n.reg), r.expr_(n.value)); }
    Stmt operator()(const Exchange& n) const {
      return exchange(r.reg(n.reg), r.expr_(n.value), n.lane_mask);
    }
    Stmt operator()(const Store& n) const {
      return store(r.buffer(n.buffer), r.index(n.buffer, n.index), r.expr_(n.value),
                   r.optional(n.mask), n.streaming);
    }
    Stmt operator()(const PrefetchAt& n) const {
      return prefetch(r.buffer(n.buffer), r.index(n.buffer, n.index));
    }
    Stmt operator()(const AsyncCopy& n) const {
      return async_copy(r.buffer(n.to), r.index(n.to, n.to_index), r.buffer(n.from),
                        r.index(n.from, n.from_index), n.lanes, r.optional(n.condition));
    }
    Stmt operator()(const auto&) const {  // names nothing itself
      return map_parts(s, r.expr_, [&](const Stmt& inner) { return r.stmt(inner); });
    }
  };
  Stmt stmt(const Stmt& s) { return std::visit(Visitor{*this, s}, s->value); }

  const Renaming& to_;
  Expressions expr_{*this, {}};
};

}  // namespace

void rename(std::vector<Kernel>& kernels, const Renaming& to) {
  Renamer renamer(to);
  for (Kernel& kernel : kernels) kernel = renamer(std::move(kernel));
}

}  // namespace lathe::flat
