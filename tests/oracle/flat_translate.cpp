// Turns flat statements into actions and instructions. Equal expressions of one statement are
// evaluated once, so that an expression with much sharing costs no more than its distinct nodes.
#include <bit>
#include <cmath>

#include "compiler/ir/flat/rewrite.h"
#include "oracle/flat_machine.h"

namespace lathe::interp {

using flat::Expr;

struct ExprTranslator {
  Translator& t;
  Action& action;
  const Expr& e;

  Insn insn(Handler handler) const {
    Insn n;
    n.run = handler;
    n.lanes = e->type.lanes;
    n.dtype = e->type.dtype;
    return n;
  }
  int emit(Insn n) const {
    n.out = t.new_cells(e->type.lanes);
    action.code.push_back(n);
    return n.out;
  }
  int operator()(const flat::IntImm& n) const {
    const int cell = t.new_cells(1);
    t.machine_.cells[static_cast<std::size_t>(cell)].i = n.value;
    return cell;
  }
  int operator()(const flat::FloatImm& n) const {
    const int cell = t.new_cells(1);
    t.machine_.cells[static_cast<std::size_t>(cell)].f = n.value;
    return cell;
  }
  int operator()(const flat::Var& n) const {
    return t.machine_.var_cells[static_cast<std::size_t>(n.id)];
  }
  int operator()(const flat::Unary& n) const {
    Insn i = insn(handler_of(n, n.x->type.dtype));
    i.op = static_cast<int>(n.op);
    i.a = t.expression(n.x, action);
    return emit(i);
  }
  int operator()(const flat::Binary& n) const {
    Insn i = insn(handler_of(n, n.a->type.dtype));
    i.op = static_cast<int>(n.op);
    i.from = n.a->type.dtype;
    i.a = t.expression(n.a, action);
    i.b = t.expression(n.b, action);
    return emit(i);
  }
  int operator()(const flat::Fma& n) const {
    Insn i = insn(handler_fma(e->type.dtype));
    i.a = t.expression(n.a, action);
    i.b = t.expression(n.b, action);
    i.c = t.expression(n.c, action);
    return emit(i);
  }
  int operator()(const flat::Select& n) const {
    Insn i = insn(handler_select());
    i.a = t.expression(n.condition, action);
    i.b = t.expression(n.then, action);
    i.c = t.expression(n.otherwise, action);
    i.vector_index = n.condition->type.lanes > 1;
    return emit(i);
  }
  int convert(Handler handler, const Expr& x) const {
    Insn i = insn(handler);
    i.from = x->type.dtype;
    i.a = t.expression(x, action);
    return emit(i);
  }
  int operator()(const flat::Cast& n) const { return convert(handler_cast(), n.x); }
  int operator()(const flat::Bitcast& n) const { return convert(handler_bitcast(), n.x); }
  int operator()(const flat::Broadcast& n) const { return convert(handler_broadcast(), n.x); }
  int operator()(const flat::Reduce& n) const {
    Insn i = insn(handler_reduce(e->type.dtype));
    i.op = static_cast<int>(n.op);
    i.from = n.x->type.dtype;
    i.stride = n.x->type.lanes;
    i.a = t.expression(n.x, action);
    return emit(i);
  }
  int operator()(const flat::Slide& n) const {
    Insn i = insn(handler_slide());
    i.op = n.x->type.lanes;
    i.stride = n.from;
    i.a = t.expression(n.x, action);
    i.b = t.expression(n.fill, action);
    return emit(i);
  }
  int operator()(const flat::Ramp& n) const {
    Insn i = insn(handler_ramp());
    i.a = t.expression(n.base, action);
    i.stride = n.stride;
    return emit(i);
  }
  int operator()(const flat::Load& n) const {
    Insn i = insn(handler_load());
    i.object = n.buffer;
    i.a = t.expression(n.index, action);
    if (n.mask) i.c = t.expression(n.mask, action);
    i.vector_index = n.index->type.lanes > 1;
    return emit(i);
  }
  int operator()(const flat::RegRead& n) const {
    Insn i = insn(handler_check_reg());
    i.object = n.reg;
    action.code.push_back(i);
    return t.machine_.reg_cells[static_cast<std::size_t>(n.reg)];
  }
};

Translator::Translator(const flat::Program& program, Machine& machine)
    : program_(program), machine_(machine) {
  if (!machine.var_cells.empty() || !machine.reg_cells.empty()) return;
  for (std::size_t i = 0; i < program.vars.size(); ++i) machine.var_cells.push_back(new_cells(1));
  for (const flat::Type& type : program.regs) machine.reg_cells.push_back(new_cells(type.lanes));
  machine.reg_epochs.assign(program.regs.size(), 0);
  machine.own_cells = machine.cells.size();
}

int Translator::new_cells(int lanes) {
  const auto first = machine_.cells.size();
  machine_.cells.resize(first + static_cast<std::size_t>(lanes));
  if (!machine_.poison_of.empty()) machine_.poison_of.resize(machine_.cells.size());
  return static_cast<int>(first);
}

int Translator::expression(const Expr& e, Action& action) {
  for (auto k = known_.rbegin(); k != known_.rend(); ++k)
    if (k->hash == e->hash) return k->cell;
  const int cell = std::visit(ExprTranslator{*this, action, e}, e->value);
  known_.push_back({e->hash, cell});
  return cell;
}

Action Translator::translate(const flat::Stmt& stmt) {
  Action action{.stmt = stmt.get()};
  known_.clear();
  const auto all = [&](const flat::Stmt& s) {
    std::vector<Action> actions;
    if (const auto* list = std::get_if<flat::Seq>(&s->value))
      for (const flat::Stmt& inner : list->stmts) actions.push_back(translate(inner));
    else actions.push_back(translate(s));
    return actions;
  };
  struct Visitor {
    Translator& t;
    Action& action;
    const decltype(all)& body;
    const flat::Stmt& stmt;
    void operator()(const flat::Seq&) const { action.body = body(stmt); }
    void operator()(const flat::For& n) const {
      action.a = t.expression(n.begin, action);
      action.b = t.expression(n.end, action);
      action.body = body(n.body);
    }
    // A action for each phase, whose bounds the region's own code evaluates.
    void operator()(const flat::Region& n) const {
      for (const flat::For& phase : n.phases) {
        action.body.push_back({.stmt = action.stmt});
        action.body.back().a = t.expression(phase.begin, action);
        action.body.back().b = t.expression(phase.end, action);
      }
      for (std::size_t i = 0; i < n.phases.size(); ++i)
        action.body[i].body = body(n.phases[i].body);
    }
    void operator()(const flat::If& n) const {
      action.a = t.expression(n.condition, action);
      action.body = body(n.then);
      if (n.otherwise) action.otherwise = body(n.otherwise);
    }
    void operator()(const flat::Let& n) const { action.a = t.expression(n.value, action); }
    void operator()(const flat::Store& n) const {
      action.a = t.expression(n.index, action);
      action.b = t.expression(n.value, action);
      if (n.mask) action.c = t.expression(n.mask, action);
    }
    void operator()(const flat::RegWrite& n) const { action.a = t.expression(n.value, action); }
    void operator()(const flat::PrefetchAt& n) const { action.a = t.expression(n.index, action); }
    void operator()(const flat::Barrier&) const {}
    void operator()(const flat::AsyncCopy& n) const {
      action.a = t.expression(n.to_index, action);
      action.b = t.expression(n.from_index, action);
      if (n.condition) action.c = t.expression(n.condition, action);
    }
    void operator()(const flat::CommitCopies&) const {}
    void operator()(const flat::AwaitCopies&) const {}
    void operator()(const flat::Exchange& n) const { action.a = t.expression(n.value, action); }
  };
  std::visit(Visitor{*this, action, all, stmt}, stmt->value);
  return action;
}

}  // namespace lathe::interp
