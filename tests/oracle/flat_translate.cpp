// Turns flat statements into steps and instructions. Equal expressions of one statement are
// evaluated once, so that an expression with much sharing costs no more than its distinct nodes.
#include <bit>
#include <cmath>

#include "compiler/ir/flat/rewrite.h"
#include "oracle/flat_machine.h"

namespace lathe::interp {

using flat::Expr;

struct ExprTranslator {
  Translator& t;
  Step& step;
  const Expr& e;

  Insn insn(Run run) const {
    Insn n;
    n.run = run;
    n.lanes = e->type.lanes;
    n.dtype = e->type.dtype;
    return n;
  }
  int emit(Insn n) const {
    n.out = t.new_cells(e->type.lanes);
    step.code.push_back(n);
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
    Insn i = insn(run_of(n, n.x->type.dtype));
    i.op = static_cast<int>(n.op);
    i.a = t.expression(n.x, step);
    return emit(i);
  }
  int operator()(const flat::Binary& n) const {
    Insn i = insn(run_of(n, n.a->type.dtype));
    i.op = static_cast<int>(n.op);
    i.from = n.a->type.dtype;
    i.a = t.expression(n.a, step);
    i.b = t.expression(n.b, step);
    return emit(i);
  }
  int operator()(const flat::Fma& n) const {
    Insn i = insn(run_fma(e->type.dtype));
    i.a = t.expression(n.a, step);
    i.b = t.expression(n.b, step);
    i.c = t.expression(n.c, step);
    return emit(i);
  }
  int operator()(const flat::Select& n) const {
    Insn i = insn(run_select());
    i.a = t.expression(n.condition, step);
    i.b = t.expression(n.then, step);
    i.c = t.expression(n.otherwise, step);
    i.vector_index = n.condition->type.lanes > 1;
    return emit(i);
  }
  int convert(Run run, const Expr& x) const {
    Insn i = insn(run);
    i.from = x->type.dtype;
    i.a = t.expression(x, step);
    return emit(i);
  }
  int operator()(const flat::Cast& n) const { return convert(run_cast(), n.x); }
  int operator()(const flat::Bitcast& n) const { return convert(run_bitcast(), n.x); }
  int operator()(const flat::Broadcast& n) const { return convert(run_broadcast(), n.x); }
  int operator()(const flat::Ramp& n) const {
    Insn i = insn(run_ramp());
    i.a = t.expression(n.base, step);
    i.stride = n.stride;
    return emit(i);
  }
  int operator()(const flat::Load& n) const {
    Insn i = insn(run_load());
    i.object = n.buffer;
    i.a = t.expression(n.index, step);
    if (n.mask) i.c = t.expression(n.mask, step);
    i.vector_index = n.index->type.lanes > 1;
    return emit(i);
  }
  int operator()(const flat::RegRead& n) const {
    Insn i = insn(run_check_reg());
    i.object = n.reg;
    step.code.push_back(i);
    return t.machine_.reg_cells[static_cast<std::size_t>(n.reg)];
  }
};

Translator::Translator(const flat::Program& program, Machine& machine)
    : program_(program), machine_(machine) {
  if (!machine.var_cells.empty() || !machine.reg_cells.empty()) return;
  for (std::size_t i = 0; i < program.vars.size(); ++i) machine.var_cells.push_back(new_cells(1));
  for (const flat::Type& type : program.regs) machine.reg_cells.push_back(new_cells(type.lanes));
  machine.reg_epochs.assign(program.regs.size(), 0);
}

int Translator::new_cells(int lanes) {
  const auto first = machine_.cells.size();
  machine_.cells.resize(first + static_cast<std::size_t>(lanes));
  if (!machine_.poison_of.empty()) machine_.poison_of.resize(machine_.cells.size());
  return static_cast<int>(first);
}

int Translator::expression(const Expr& e, Step& step) {
  for (auto k = known_.rbegin(); k != known_.rend(); ++k)
    if (k->hash == e->hash) return k->cell;
  const int cell = std::visit(ExprTranslator{*this, step, e}, e->value);
  known_.push_back({e->hash, cell});
  return cell;
}

Step Translator::translate(const flat::Stmt& stmt) {
  Step step{.stmt = stmt.get()};
  known_.clear();
  const auto all = [&](const flat::Stmt& s) {
    std::vector<Step> steps;
    if (const auto* list = std::get_if<flat::Seq>(&s->value))
      for (const flat::Stmt& inner : list->stmts) steps.push_back(translate(inner));
    else steps.push_back(translate(s));
    return steps;
  };
  struct Visitor {
    Translator& t;
    Step& step;
    const decltype(all)& body;
    const flat::Stmt& stmt;
    void operator()(const flat::Seq&) const { step.body = body(stmt); }
    void operator()(const flat::For& n) const {
      step.a = t.expression(n.begin, step);
      step.b = t.expression(n.end, step);
      step.body = body(n.body);
    }
    // A step for each phase, whose bounds the region's own code evaluates.
    void operator()(const flat::Region& n) const {
      for (const flat::For& phase : n.phases) {
        step.body.push_back({.stmt = step.stmt});
        step.body.back().a = t.expression(phase.begin, step);
        step.body.back().b = t.expression(phase.end, step);
      }
      for (std::size_t i = 0; i < n.phases.size(); ++i) step.body[i].body = body(n.phases[i].body);
    }
    void operator()(const flat::If& n) const {
      step.a = t.expression(n.condition, step);
      step.body = body(n.then);
      if (n.otherwise) step.otherwise = body(n.otherwise);
    }
    void operator()(const flat::Let& n) const { step.a = t.expression(n.value, step); }
    void operator()(const flat::Store& n) const {
      step.a = t.expression(n.index, step);
      step.b = t.expression(n.value, step);
      if (n.mask) step.c = t.expression(n.mask, step);
    }
    void operator()(const flat::RegWrite& n) const { step.a = t.expression(n.value, step); }
    void operator()(const flat::PrefetchAt& n) const { step.a = t.expression(n.index, step); }
  };
  std::visit(Visitor{*this, step, all, stmt}, stmt->value);
  return step;
}

}  // namespace lathe::interp
