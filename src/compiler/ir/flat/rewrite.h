// Walks and rebuilds flat trees. Rebuilding goes through the folding constructors, and an unchanged
// subtree keeps its pointer. Expressions are graphs with shared nodes: a pass over large ones keeps
// a map from node to result.
#pragma once

#include <type_traits>
#include <unordered_map>
#include <utility>

#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

// Replaces each operand x of e by f(x); returns e itself if none changed. f: Expr(const Expr&).
template <class F>
Expr map_operands(const Expr& e, F&& f);
// Calls f(const Expr&) for each operand, but not for an absent mask.
template <class F>
void each_operand(const Node& e, F&& f);

// Replaces the expressions of s by on_expr of them and its statements by on_stmt of them; returns s
// itself if none changed.
template <class OnExpr, class OnStmt>
Stmt map_parts(const Stmt& s, OnExpr&& on_expr, OnStmt&& on_stmt);
template <class OnExpr, class OnStmt>
void each_part(const StmtNode& s, OnExpr&& on_expr, OnStmt&& on_stmt);

// Rewrites bottom-up, every shared node once: `f(node)` sees a node whose operands are
// rewritten already. Trees without any of the `concerned` contents are left alone.
template <class F>
class ExprRewriter {
 public:
  explicit ExprRewriter(F f, Contents concerned = 0) : f_(std::move(f)), concerned_(concerned) {}
  Expr operator()(const Expr& e) {
    if (concerned_ != 0 && (e->contents & concerned_) == 0) return e;
    // Nobody else uses the node, so its result need not be remembered.
    if (e.use_count() == 1) return f_(map_operands(e, *this));
    if (const auto known = done_.find(e.get()); known != done_.end()) return known->second.second;
    Expr out = f_(map_operands(e, *this));
    done_.emplace(e.get(), std::pair(e, out));
    return out;
  }

 private:
  F f_;
  Contents concerned_;                                           // 0: everything
  std::unordered_map<const Node*, std::pair<Expr, Expr>> done_;  // keeps the key alive
};

// Applies `f` (see ExprRewriter) to all expressions of the program. Variables, registers and
// buffers stay.
template <class F>
Program rewrite_exprs(Program program, F f, Contents concerned = 0);

template <class F>
Expr map_operands(const Expr& e, F&& f) {
  struct Visitor {
    const Expr& e;
    F& f;
    Expr operator()(const IntImm&) const { return e; }
    Expr operator()(const FloatImm&) const { return e; }
    Expr operator()(const Var&) const { return e; }
    Expr operator()(const RegRead&) const { return e; }
    Expr operator()(const Unary& n) const {
      Expr x = f(n.x);
      return x == n.x ? e : unary(n.op, std::move(x));
    }
    Expr operator()(const Binary& n) const {
      Expr a = f(n.a), b = f(n.b);
      return a == n.a && b == n.b ? e : binary(n.op, std::move(a), std::move(b));
    }
    Expr operator()(const Fma& n) const {
      Expr a = f(n.a), b = f(n.b), c = f(n.c);
      return a == n.a && b == n.b && c == n.c ? e : fma(std::move(a), std::move(b), std::move(c));
    }
    Expr operator()(const Select& n) const {
      Expr c = f(n.condition), t = f(n.then), o = f(n.otherwise);
      if (c == n.condition && t == n.then && o == n.otherwise) return e;
      return select(std::move(c), std::move(t), std::move(o));
    }
    Expr operator()(const Cast& n) const {
      Expr x = f(n.x);
      return x == n.x ? e : cast(std::move(x), e->type.dtype);
    }
    Expr operator()(const Bitcast& n) const {
      Expr x = f(n.x);
      return x == n.x ? e : bitcast(std::move(x), e->type.dtype);
    }
    Expr operator()(const Ramp& n) const {
      Expr base = f(n.base);
      return base == n.base ? e : ramp(std::move(base), n.stride, e->type.lanes);
    }
    Expr operator()(const Broadcast& n) const {
      Expr x = f(n.x);
      return x == n.x ? e : broadcast(std::move(x), e->type.lanes);
    }
    Expr operator()(const Reduce& n) const {
      Expr x = f(n.x);
      return x == n.x ? e : reduce(n.op, std::move(x));
    }
    Expr operator()(const Slide& n) const {
      Expr x = f(n.x), fill = f(n.fill);
      if (x == n.x && fill == n.fill) return e;
      return slide(std::move(x), n.from, e->type.lanes, std::move(fill));
    }
    Expr operator()(const Load& n) const {
      Expr index = f(n.index), mask = n.mask ? f(n.mask) : nullptr;
      if (index == n.index && mask == n.mask) return e;
      return load(n.buffer, std::move(index), e->type, std::move(mask));
    }
  };
  return std::visit(Visitor{e, f}, e->value);
}

template <class F>
void each_operand(const Node& e, F&& f) {
  struct Visitor {
    F& f;
    void operator()(const IntImm&) const {}
    void operator()(const FloatImm&) const {}
    void operator()(const Var&) const {}
    void operator()(const RegRead&) const {}
    void operator()(const Unary& n) const { f(n.x); }
    void operator()(const Binary& n) const { f(n.a), f(n.b); }
    void operator()(const Fma& n) const { f(n.a), f(n.b), f(n.c); }
    void operator()(const Select& n) const { f(n.condition), f(n.then), f(n.otherwise); }
    void operator()(const Cast& n) const { f(n.x); }
    void operator()(const Bitcast& n) const { f(n.x); }
    void operator()(const Ramp& n) const { f(n.base); }
    void operator()(const Broadcast& n) const { f(n.x); }
    void operator()(const Reduce& n) const { f(n.x); }
    void operator()(const Slide& n) const { f(n.x), f(n.fill); }
    void operator()(const Load& n) const {
      f(n.index);
      if (n.mask) f(n.mask);
    }
  };
  std::visit(Visitor{f}, e.value);
}

// What map_parts does with each kind of statement.
template <class OnExpr, class OnStmt>
struct PartMapper {
  const Stmt& s;
  OnExpr& on_expr;
  OnStmt& on_stmt;
  Stmt operator()(const Seq& n) const {
    std::vector<Stmt> stmts;
    stmts.reserve(n.stmts.size());
    bool changed = false;
    for (const Stmt& old : n.stmts) {
      stmts.push_back(on_stmt(old));
      changed = changed || stmts.back() != old;
    }
    return changed ? seq(std::move(stmts)) : s;
  }
  Stmt operator()(const For& n) const {
    Expr begin = on_expr(n.begin), end = on_expr(n.end);
    Stmt body = on_stmt(n.body);
    if (begin == n.begin && end == n.end && body == n.body) return s;
    return for_loop(n.var, std::move(begin), std::move(end), std::move(body));
  }
  Stmt operator()(const Region& n) const {
    std::vector<For> phases;
    bool changed = false;
    for (const For& p : n.phases) {
      phases.push_back({p.var, on_expr(p.begin), on_expr(p.end), on_stmt(p.body)});
      const For& now = phases.back();
      changed = changed || now.begin != p.begin || now.end != p.end || now.body != p.body;
    }
    return changed ? region(std::move(phases)) : s;
  }
  Stmt operator()(const If& n) const {
    Expr condition = on_expr(n.condition);
    Stmt then = on_stmt(n.then), otherwise = n.otherwise ? on_stmt(n.otherwise) : nullptr;
    if (condition == n.condition && then == n.then && otherwise == n.otherwise) return s;
    return if_then(std::move(condition), std::move(then), std::move(otherwise));
  }
  Stmt operator()(const Let& n) const {
    Expr value = on_expr(n.value);
    return value == n.value ? s : let(n.var, std::move(value));
  }
  Stmt operator()(const Store& n) const {
    Expr index = on_expr(n.index), value = on_expr(n.value),
         mask = n.mask ? on_expr(n.mask) : nullptr;
    if (index == n.index && value == n.value && mask == n.mask) return s;
    return store(n.buffer, std::move(index), std::move(value), std::move(mask), n.streaming);
  }
  Stmt operator()(const RegWrite& n) const {
    Expr value = on_expr(n.value);
    return value == n.value ? s : reg_write(n.reg, std::move(value));
  }
  Stmt operator()(const PrefetchAt& n) const {
    Expr index = on_expr(n.index);
    return index == n.index ? s : prefetch(n.buffer, std::move(index));
  }
  Stmt operator()(const Barrier&) const { return s; }
  Stmt operator()(const AsyncCopy& n) const {
    Expr to = on_expr(n.to_index), from = on_expr(n.from_index),
         condition = n.condition ? on_expr(n.condition) : nullptr;
    if (to == n.to_index && from == n.from_index && condition == n.condition) return s;
    return async_copy(n.to, std::move(to), n.from, std::move(from), n.lanes, std::move(condition));
  }
  Stmt operator()(const CommitCopies&) const { return s; }
  Stmt operator()(const AwaitCopies&) const { return s; }
  Stmt operator()(const Exchange& n) const {
    Expr value = on_expr(n.value);
    return value == n.value ? s : exchange(n.reg, std::move(value), n.lane_mask);
  }
};

template <class OnExpr, class OnStmt>
Stmt map_parts(const Stmt& s, OnExpr&& on_expr, OnStmt&& on_stmt) {
  using Mapper = PartMapper<std::remove_reference_t<OnExpr>, std::remove_reference_t<OnStmt>>;
  return std::visit(Mapper{s, on_expr, on_stmt}, s->value);
}

template <class OnExpr, class OnStmt>
void each_part(const StmtNode& s, OnExpr&& on_expr, OnStmt&& on_stmt) {
  struct Visitor {
    OnExpr& on_expr;
    OnStmt& on_stmt;
    void operator()(const Seq& n) const {
      for (const Stmt& inner : n.stmts) on_stmt(inner);
    }
    void operator()(const For& n) const { on_expr(n.begin), on_expr(n.end), on_stmt(n.body); }
    void operator()(const Region& n) const {
      for (const For& phase : n.phases) (*this)(phase);
    }
    void operator()(const If& n) const {
      on_expr(n.condition), on_stmt(n.then);
      if (n.otherwise) on_stmt(n.otherwise);
    }
    void operator()(const Let& n) const { on_expr(n.value); }
    void operator()(const Store& n) const {
      on_expr(n.index), on_expr(n.value);
      if (n.mask) on_expr(n.mask);
    }
    void operator()(const RegWrite& n) const { on_expr(n.value); }
    void operator()(const PrefetchAt& n) const { on_expr(n.index); }
    void operator()(const Barrier&) const {}
    void operator()(const AsyncCopy& n) const {
      on_expr(n.to_index), on_expr(n.from_index);
      if (n.condition) on_expr(n.condition);
    }
    void operator()(const CommitCopies&) const {}
    void operator()(const AwaitCopies&) const {}
    void operator()(const Exchange& n) const { on_expr(n.value); }
  };
  std::visit(Visitor{on_expr, on_stmt}, s.value);
}

template <class F>
Program rewrite_exprs(Program program, F f, Contents concerned) {
  ExprRewriter<F> on_expr(std::move(f), concerned);
  const auto on_stmt = [&](const auto& self, const Stmt& s) -> Stmt {
    if (concerned != 0 && (s->contents & concerned) == 0) return s;
    return map_parts(s, on_expr, [&](const Stmt& inner) { return self(self, inner); });
  };
  for (Kernel& kernel : program.kernels) kernel.body = on_stmt(on_stmt, kernel.body);
  return program;
}

}  // namespace lathe::flat
