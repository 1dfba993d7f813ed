#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/passes/passes.h"
#include "compiler/lower/passes/ranges.h"

namespace lathe::lower {
namespace {

using flat::BinaryOp;
using flat::Expr;
using flat::Stmt;

bool is_empty(const Stmt& s) {
  const auto* list = std::get_if<flat::Seq>(&s->value);
  return list != nullptr && list->stmts.empty();
}

Expr sum_of(const std::vector<Linear::Term>& terms, std::int64_t divisor, std::int64_t constant) {
  Expr sum = flat::int_imm(0);
  for (const Linear::Term& t : terms)
    sum = flat::binary(BinaryOp::kAdd, sum,
                       flat::binary(BinaryOp::kMul, t.atom, flat::int_imm(t.coef / divisor)));
  return flat::binary(BinaryOp::kAdd, sum, flat::int_imm(constant));
}

class Simplifier {
 public:
  explicit Simplifier(std::size_t vars) : ranges_(vars), replaced_(vars) {}

  void enter(const flat::Grid& grid) {
    for (const flat::Axis& axis : grid.axes()) ranges_.set_loop(axis.var, {0, axis.count - 1});
  }
  Stmt operator()(const Stmt& s) {
    if ((s->contents & (concerned_ | flat::contents::kControl)) == 0) return s;
    return std::visit([&](const auto& n) { return statement(n, s); }, s->value);
  }

 private:
  using Memo = std::unordered_map<const flat::Node*, std::pair<Expr, Expr>>;

  Expr expression(const Expr& e) {
    if ((e->contents & concerned_) == 0) return e;
    if (e.use_count() > 1)
      if (const auto known = memo_.find(e.get()); known != memo_.end()) return known->second.second;
    Expr out = std::visit([&](const auto& n) { return node(n, e); }, e->value);
    if (e.use_count() > 1) memo_.emplace(e.get(), std::pair(e, out));
    return out;
  }
  template <class Node>
  Expr node(const Node&, const Expr& e) {
    return flat::map_operands(e, [&](const Expr& x) { return expression(x); });
  }
  Expr node(const flat::Var& n, const Expr& e) {
    const Expr& other = replaced_[static_cast<std::size_t>(n.id)];
    return other ? other : e;
  }
  Expr node(const flat::IntImm&, const Expr& e) { return e; }
  Expr node(const flat::FloatImm&, const Expr& e) { return e; }
  Expr node(const flat::RegRead&, const Expr& e) { return e; }
  Expr node(const flat::Binary&, const Expr& old) {
    Expr e = flat::map_operands(old, [&](const Expr& x) { return expression(x); });
    const auto* n = std::get_if<flat::Binary>(&e->value);
    if (n == nullptr || n->a->type.dtype != Dtype::kI64) return e;
    if (flat::is_comparison(n->op)) {
      const auto known = ranges_.decide(n->op, n->a, n->b);
      return known ? flat::imm(*known, e->type) : narrowed(*n, e);
    }
    if (n->op == BinaryOp::kMin || n->op == BinaryOp::kMax) {
      const auto known = ranges_.decide(BinaryOp::kLe, n->a, n->b);
      if (!known) return e;
      return *known == (n->op == BinaryOp::kMin) ? n->a : n->b;
    }
    if (n->op == BinaryOp::kDiv || n->op == BinaryOp::kMod) return quotient(*n, e);
    return e;
  }
  // Vectors that are compared as i64, in 32 bits where one has been cast from so many and all of
  // the other have the same number, which 32 bits hold, or were cast, too.
  Expr narrowed(const flat::Binary& n, const Expr& e) const {
    const auto was_narrow = [](const Expr& x) -> Expr {
      const auto* cast = std::get_if<flat::Cast>(&x->value);
      if (cast == nullptr) return nullptr;
      const Dtype from = cast->x->type.dtype;
      const bool fits = from == Dtype::kI32 || from == Dtype::kI16 || from == Dtype::kU16 ||
                        from == Dtype::kI8 || from == Dtype::kU8;
      return fits ? flat::cast(cast->x, Dtype::kI32) : nullptr;
    };
    const auto same_number = [&](const Expr& x) -> Expr {
      const auto* all = std::get_if<flat::Broadcast>(&x->value);
      if (all == nullptr || !ranges_.of(all->x).is_inside(INT32_MIN, INT32_MAX)) return nullptr;
      return flat::broadcast(flat::cast(all->x, Dtype::kI32), x->type.lanes);
    };
    if (n.a->type.lanes < 2) return e;
    Expr a = was_narrow(n.a), b = was_narrow(n.b);
    if (!a && !b) return e;
    if (!a) a = same_number(n.a);
    if (!b) b = same_number(n.b);
    return a && b ? flat::binary(n.op, std::move(a), std::move(b)) : e;
  }
  // Simplifies (c q + r) / c and (c q + r) % c for constant c. If the range of r shows that the
  // value stays between two multiples of c, they are q and r; else q + r / c and r % c. Nothing may
  // be negative.
  Expr quotient(const flat::Binary& n, const Expr& e) {
    const auto c = flat::as_int(n.b);
    if (!c || *c <= 0 || e->type.lanes != 1) return e;
    const Linear whole = ranges_.linear(n.a);
    Linear multiple, rest;
    for (const Linear::Term& t : whole.terms)
      (t.coef % *c == 0 ? multiple : rest).terms.push_back(t);
    rest.constant = whole.constant;
    const Interval r = ranges_.of(rest);
    if (!r.is_inside(-Interval::kFar / 2, Interval::kFar / 2)) return e;
    if (!ranges_.of(whole).is_inside(0, Interval::kFar - 1)) return e;
    const std::int64_t steps = floor_div(r.low, *c);
    if (floor_div(r.high, *c) == steps)
      return n.op == BinaryOp::kDiv ? sum_of(multiple.terms, *c, steps)
                                    : sum_of(rest.terms, 1, rest.constant - steps * *c);
    if (multiple.terms.empty() || r.low < 0) return e;
    const Expr tail = flat::binary(n.op, sum_of(rest.terms, 1, rest.constant), n.b);
    return n.op == BinaryOp::kMod
               ? tail
               : flat::binary(BinaryOp::kAdd, sum_of(multiple.terms, *c, 0), tail);
  }

  template <class Node>
  Stmt statement(const Node&, const Stmt& s) {
    return flat::map_parts(
        s, [&](const Expr& e) { return expression(e); },
        [&](const Stmt& inner) { return (*this)(inner); });
  }
  // A loop with simplified bounds.
  struct Bounded {
    flat::For loop;
    Interval values;  // of its variable
    bool changed;     // against the loop as it was
    bool never_runs() const { return values.high < values.low; }
    bool runs_once() const {
      return flat::as_int(flat::binary(BinaryOp::kSub, loop.end, loop.begin)) == 1;
    }
  };
  Bounded bounded(const flat::For& n) {
    flat::For loop{n.var, expression(n.begin), expression(n.end), n.body};
    const std::int64_t low = ranges_.of(loop.begin).low, high = ranges_.of(loop.end).high;
    const bool changed = loop.begin != n.begin || loop.end != n.end;
    return {std::move(loop), {low, high == Interval::kFar ? high : high - 1}, changed};
  }
  void simplify_body(Bounded& b) {
    ranges_.set_loop(b.loop.var, b.values);
    Stmt body = (*this)(b.loop.body);
    b.changed = b.changed || body != b.loop.body;
    b.loop.body = std::move(body);
  }
  Stmt only_iteration(const flat::For& loop) {
    replace(loop.var, loop.begin);
    return (*this)(loop.body);
  }
  Stmt statement(const flat::For& n, const Stmt& s) {
    Bounded b = bounded(n);
    if (b.never_runs()) return flat::seq({});
    if (b.runs_once()) return only_iteration(b.loop);
    simplify_body(b);
    if (is_empty(b.loop.body)) return flat::seq({});
    return b.changed ? flat::for_loop(n.var, b.loop.begin, b.loop.end, b.loop.body) : s;
  }
  // A region of one phase with one iteration is no region.
  Stmt statement(const flat::Region& n, const Stmt& s) {
    std::vector<Bounded> bounds;
    for (const flat::For& phase : n.phases) bounds.push_back(bounded(phase));
    std::erase_if(bounds, [](const Bounded& b) { return b.never_runs(); });
    if (bounds.size() == 1 && bounds[0].runs_once()) return only_iteration(bounds[0].loop);
    std::vector<flat::For> phases;
    bool changed = bounds.size() < n.phases.size();
    for (Bounded& b : bounds) {
      simplify_body(b);
      changed = changed || b.changed;
      if (!is_empty(b.loop.body)) phases.push_back(std::move(b.loop));
    }
    return changed || phases.size() < bounds.size() ? flat::region(std::move(phases)) : s;
  }
  Stmt statement(const flat::If& n, const Stmt& s) {
    const Expr condition = expression(n.condition);
    if (const auto known = flat::as_int(condition)) {
      if (*known != 0) return (*this)(n.then);
      return n.otherwise ? (*this)(n.otherwise) : flat::seq({});
    }
    Stmt then = branch(n.then, condition, true);
    Stmt otherwise = n.otherwise ? branch(n.otherwise, condition, false) : nullptr;
    if (otherwise && is_empty(otherwise)) otherwise = nullptr;
    if (is_empty(then)) {
      if (!otherwise) return then;
      return flat::if_then(flat::unary(flat::UnaryOp::kNot, condition), std::move(otherwise));
    }
    if (condition == n.condition && then == n.then && otherwise == n.otherwise) return s;
    return flat::if_then(condition, std::move(then), std::move(otherwise));
  }
  Stmt branch(const Stmt& s, const Expr& condition, bool holds) {
    Ranges::State before = ranges_.state();
    Memo outer = std::exchange(memo_, {});  // what holds here need not hold outside
    ranges_.assume(condition, holds);
    Stmt out = (*this)(s);
    memo_ = std::move(outer);
    ranges_.restore(std::move(before));
    return out;
  }
  Stmt statement(const flat::Let& n, const Stmt& s) {
    Expr value = expression(n.value);
    if (flat::as_int(value) || std::holds_alternative<flat::Var>(value->value)) {
      replace(n.var, std::move(value));
      return flat::seq({});
    }
    ranges_.set_let(n.var, value);
    return value == n.value ? s : flat::let(n.var, std::move(value));
  }

  void replace(int var, Expr value) {
    replaced_[static_cast<std::size_t>(var)] = std::move(value);
    concerned_ |= flat::contents::kVar;
  }

  Ranges ranges_;
  std::vector<Expr> replaced_;                            // by variable: what now stands for it
  flat::Contents concerned_ = flat::contents::kDecision;  // contents of trees that may change
  Memo memo_;
};

// Goes backwards over each statement list and drops lets that nothing later uses.
class DeadLets {
 public:
  explicit DeadLets(std::size_t vars) : used_(vars) {}

  Stmt operator()(const Stmt& s) {
    if (const auto* list = std::get_if<flat::Seq>(&s->value)) return statements(*list, s);
    if (const auto* n = std::get_if<flat::Let>(&s->value))
      if (!used_[static_cast<std::size_t>(n->var)]) return flat::seq({});
    const auto mark_all = [&](const Expr& e) {
      mark(e);
      return e;
    };
    return flat::map_parts(s, mark_all, [&](const Stmt& inner) { return (*this)(inner); });
  }

 private:
  Stmt statements(const flat::Seq& list, const Stmt& s) {
    std::vector<Stmt> kept(list.stmts.size());
    bool changed = false;
    for (std::size_t i = list.stmts.size(); i-- > 0;) {
      kept[i] = (*this)(list.stmts[i]);
      changed = changed || kept[i] != list.stmts[i];
    }
    return changed ? flat::seq(std::move(kept)) : s;
  }
  void mark(const Expr& e) {
    if (e.use_count() > 1 && !seen_.insert(e.get()).second) return;
    if (const auto* v = std::get_if<flat::Var>(&e->value))
      used_[static_cast<std::size_t>(v->id)] = 1;
    flat::each_operand(*e, [&](const Expr& x) { mark(x); });
  }

  std::vector<char> used_;
  std::unordered_set<const flat::Node*> seen_;
};

bool nothing_prepared(const flat::Program& program) {
  return std::ranges::all_of(program.prepare, [&](int k) {
    return is_empty(program.kernels[static_cast<std::size_t>(k)].body);
  });
}

// Drops the kernels that only prepare ran.
void drop_prepare(flat::Program& program) {
  std::vector<flat::Kernel> kept;
  std::vector<int> number(program.kernels.size(), -1);
  for (int& k : program.run) {
    const auto old = static_cast<std::size_t>(k);
    if (number[old] < 0) {
      number[old] = static_cast<int>(kept.size());
      kept.push_back(std::move(program.kernels[old]));
    }
    k = number[old];
  }
  program.kernels = std::move(kept);
  program.prepare.clear();
}

}  // namespace

flat::Program simplify(flat::Program program, const Target&) {
  Simplifier simplifier(program.vars.size());
  DeadLets dead_lets(program.vars.size());
  const auto both = [&](const Stmt& s) {
    const Stmt out = simplifier(s);
    return out->contents & flat::contents::kLet ? dead_lets(out) : out;
  };
  for (flat::Kernel& kernel : program.kernels) {
    simplifier.enter(kernel.grid);
    kernel.body = both(kernel.body);
  }
  if (nothing_prepared(program)) drop_prepare(program);
  return program;
}

}  // namespace lathe::lower
