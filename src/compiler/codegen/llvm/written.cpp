#include "compiler/codegen/llvm/written.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/result.h"

namespace lathe::codegen {
namespace {

using namespace flat;

void sort_unique(std::vector<int>& v) {
  std::ranges::sort(v);
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

struct WrittenVisitor {
  Written& out;
  void walk(const Stmt& s) {
    if (s) std::visit(*this, s->value);
  }
  void operator()(const Seq& n) {
    for (const Stmt& s : n.stmts) walk(s);
  }
  void operator()(const For& n) { walk(n.body); }
  void operator()(const Region& n) {
    for (const For& phase : n.phases) walk(phase.body);
  }
  void operator()(const If& n) {
    walk(n.then);
    walk(n.otherwise);
  }
  void operator()(const Let&) {}
  void operator()(const Store& n) { out.buffers.push_back(n.buffer); }
  void operator()(const RegWrite& n) { out.regs.push_back(n.reg); }
  void operator()(const PrefetchAt&) {}
  void operator()(const Barrier&) {}
  void operator()(const AsyncCopy& n) { out.buffers.push_back(n.to); }
  void operator()(const CommitCopies&) {}
  void operator()(const AwaitCopies&) {}
  void operator()(const Exchange& n) { out.regs.push_back(n.reg); }
};

struct VarVisitor {
  std::set<int> used, defined;
  std::unordered_set<const Node*> seen;

  void walk(const Expr& e) {
    if (e && seen.insert(e.get()).second) std::visit(*this, e->value);
  }
  void walk(const Stmt& s) {
    if (s) std::visit(*this, s->value);
  }
  void operator()(const IntImm&) {}
  void operator()(const FloatImm&) {}
  void operator()(const RegRead&) {}
  void operator()(const Var& n) { used.insert(n.id); }
  void operator()(const Unary& n) { walk(n.x); }
  void operator()(const Binary& n) { walk(n.a), walk(n.b); }
  void operator()(const Fma& n) { walk(n.a), walk(n.b), walk(n.c); }
  void operator()(const Select& n) { walk(n.condition), walk(n.then), walk(n.otherwise); }
  void operator()(const Cast& n) { walk(n.x); }
  void operator()(const Bitcast& n) { walk(n.x); }
  void operator()(const Ramp& n) { walk(n.base); }
  void operator()(const Broadcast& n) { walk(n.x); }
  void operator()(const Reduce& n) { walk(n.x); }
  void operator()(const Slide& n) { walk(n.x), walk(n.fill); }
  void operator()(const Load& n) { walk(n.index), walk(n.mask); }
  void operator()(const Seq& n) {
    for (const Stmt& s : n.stmts) walk(s);
  }
  void operator()(const For& n) {
    defined.insert(n.var);
    walk(n.begin), walk(n.end), walk(n.body);
  }
  void operator()(const Region& n) {
    for (const For& phase : n.phases) (*this)(phase);
  }
  void operator()(const If& n) { walk(n.condition), walk(n.then), walk(n.otherwise); }
  void operator()(const Let& n) {
    defined.insert(n.var);
    walk(n.value);
  }
  void operator()(const Store& n) { walk(n.index), walk(n.value), walk(n.mask); }
  void operator()(const RegWrite& n) { walk(n.value); }
  void operator()(const PrefetchAt& n) { walk(n.index); }
  void operator()(const Barrier&) {}
  void operator()(const AsyncCopy& n) { walk(n.to_index), walk(n.from_index), walk(n.condition); }
  void operator()(const CommitCopies&) {}
  void operator()(const AwaitCopies&) {}
  void operator()(const Exchange& n) { walk(n.value); }
};

}  // namespace

Written written_by(const Stmt& stmt) {
  Written out;
  WrittenVisitor{out}.walk(stmt);
  sort_unique(out.regs);
  sort_unique(out.buffers);
  return out;
}

std::vector<int> free_vars(const Stmt& stmt) {
  VarVisitor visitor;
  visitor.walk(stmt);
  std::vector<int> out;
  std::ranges::set_difference(visitor.used, visitor.defined, std::back_inserter(out));
  return out;
}

}  // namespace lathe::codegen
