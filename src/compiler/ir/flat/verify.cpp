#include <unordered_set>

#include <fmt/format.h>

#include "compiler/ir/flat/flat.h"
#include "compiler/ir/flat/rewrite.h"
#include "compiler/ir/flat/verify_buffers.h"
#include "compiler/ir/flat/verify_groups.h"
#include "compiler/ir/flat/verify_types.h"

namespace lathe::flat {
namespace {

// Walks once over prepare or run. It keeps the first fault that it finds; after that it only
// unwinds.
class Verifier {
 public:
  Verifier(const Program& program, bool preparing)
      : program_(program),
        preparing_(preparing),
        differing_(program.vars.size()),
        visible_(program.vars.size()),
        defined_(program.vars.size()),
        written_(program.regs.size()) {}

  Status run(const Kernel& kernel) {
    enter(kernel.grid);
    visit(kernel.body);
    if (fault_.empty()) return {};
    return fail_at(kernel.name, ErrorKind::kInternal, "{}", fault_);
  }

 private:
  // Its points are iterations that run at the same time.
  void enter(const Grid& grid) {
    grid_ = &grid;
    for (const auto* directions : {&grid.groups, &grid.items})
      for (const Axis& axis : *directions) {
        if (axis.count < 1) return refuse("a grid without points");
        if (axis.var < 0 && axis.count > 1) return refuse("a grid without a variable");
        if (axis.var >= 0 && !define(axis.var)) return;
        in_parallel_ = in_parallel_ || axis.var >= 0;
        if (axis.var >= 0 && directions == &grid.items) differing_.set(axis.var, true);
      }
  }
  template <class... Args>
  void refuse(fmt::format_string<Args...> format, Args&&... args) {
    if (fault_.empty()) fault_ = fmt::format(format, std::forward<Args>(args)...);
  }
  template <class... Args>
  bool require(bool condition, const Expr& e, fmt::format_string<Args...> format, Args&&... args) {
    if (!condition && fault_.empty())
      fault_ = fmt::format("{} in `{}`", fmt::format(format, std::forward<Args>(args)...),
                           print(program_, e));
    return condition;
  }

  // Expressions.
  void expression(const Expr& e) {
    checked_.clear();
    visit(e);
  }
  void visit(const Expr& e) {
    if (!fault_.empty()) return;
    if (!e) return refuse("an expression is missing");
    if (e.use_count() > 1 && !checked_.insert(e.get()).second) return;
    each_operand(*e, [&](const Expr& x) { visit(x); });
    if (!fault_.empty()) return;
    require(e->type.lanes >= 1, e, "{} lanes", e->type.lanes);
    std::visit([&](const auto& n) { check(n, e); }, e->value);
  }
  void check(const IntImm& n, const Expr& e) {
    require(!is_float(e->type.dtype) && e->type.lanes == 1, e, "an integer immediate of type {}",
            described(e->type));
    require(wrap(n.value, e->type.dtype) == n.value, e, "{} is not a value of {}", n.value,
            described(e->type));
  }
  void check(const FloatImm&, const Expr& e) {
    require(is_float(e->type.dtype) && e->type.lanes == 1, e, "a real immediate of type {}",
            described(e->type));
  }
  void check(const Var& n, const Expr& e) {
    if (!require(n.id >= 0 && n.id < static_cast<int>(visible_.size()), e,
                 "variable {} does not exist", n.id))
      return;
    require(visible_[static_cast<std::size_t>(n.id)], e, "variable {} is not defined here", n.id);
    require(e->type == Type{Dtype::kI64, 1}, e, "a variable of type {}", described(e->type));
  }
  void check(const Unary& n, const Expr& e) {
    require(n.x->type == e->type, e, "{} of {} yields {}", ir::name_of(n.op), described(n.x->type),
            described(e->type));
    require(takes(n.op, n.x->type.dtype), e, "{} of {}", ir::name_of(n.op), described(n.x->type));
  }
  void check(const Binary& n, const Expr& e) {
    const Type type = n.a->type;
    require(n.b->type == type, e, "{} of {} and {}", name_of(n.op), described(type),
            described(n.b->type));
    const Type result{yields_bool(n.op) ? Dtype::kBool : type.dtype, type.lanes};
    require(e->type == result, e, "{} of {} yields {}", name_of(n.op), described(type),
            described(e->type));
    require(takes(n.op, type.dtype), e, "{} of {}", name_of(n.op), described(type));
  }
  void check(const Fma& n, const Expr& e) {
    require(n.a->type == e->type && n.b->type == e->type && n.c->type == e->type, e,
            "operands of fma differ in type");
    require(e->type.dtype != Dtype::kBool, e, "fma of bool");
  }
  void check(const Select& n, const Expr& e) {
    require(n.then->type == e->type && n.otherwise->type == e->type, e,
            "branches of select are {} and {}", described(n.then->type),
            described(n.otherwise->type));
    const Type c = n.condition->type;
    require(c.dtype == Dtype::kBool && (c.lanes == 1 || c.lanes == e->type.lanes), e,
            "select between {} on a condition of type {}", described(e->type), described(c));
  }
  void check(const Cast& n, const Expr& e) {
    require(n.x->type.lanes == e->type.lanes, e, "a cast of {} to {}", described(n.x->type),
            described(e->type));
  }
  void check(const Bitcast& n, const Expr& e) {
    require(n.x->type.lanes == e->type.lanes && bitcasts(n.x->type.dtype, e->type.dtype), e,
            "a bitcast of {} to {}", described(n.x->type), described(e->type));
  }
  void check(const Ramp& n, const Expr& e) {
    require(n.base->type == Type{e->type.dtype, 1} && is_integer(e->type.dtype), e,
            "a ramp of {} from {}", described(e->type), described(n.base->type));
  }
  void check(const Broadcast& n, const Expr& e) {
    require(n.x->type == Type{e->type.dtype, 1}, e, "a broadcast of {} to {}", described(n.x->type),
            described(e->type));
  }
  void check(const Reduce& n, const Expr& e) {
    const bool known = n.op == BinaryOp::kAdd || n.op == BinaryOp::kMul || n.op == BinaryOp::kMin ||
                       n.op == BinaryOp::kMax;
    const int lanes = n.x->type.lanes;
    require(known && e->type == Type{n.x->type.dtype, 1} && e->type.dtype != Dtype::kBool &&
                lanes > 1 && (lanes & (lanes - 1)) == 0,
            e, "lanes of {} are reduced by {} to {}", described(n.x->type), name_of(n.op),
            described(e->type));
  }
  void check(const Slide& n, const Expr& e) {
    const Type one{e->type.dtype, 1};
    require(n.x->type.lanes > 1 && n.x->type.dtype == e->type.dtype && n.fill->type == one &&
                e->type.dtype != Dtype::kBool,
            e, "{} of lanes of {}, filled with {}", described(e->type), described(n.x->type),
            described(n.fill->type));
  }
  void check(const Load& n, const Expr& e) {
    if (!access(n.buffer, n.index, e->type, n.mask, &e)) return;
    const Buffer& b = buffer(n.buffer);
    if (preparing_) require(is_constant(b), e, "prepare reads {}, which is not constant", b.name);
  }
  bool is_constant(const Buffer& b) const {
    return b.scope != Scope::kOutput &&
           (b.scope != Scope::kInput || program_.inputs[static_cast<std::size_t>(b.slot)].constant);
  }
  void check(const RegRead& n, const Expr& e) {
    if (!require(has_reg(n.reg), e, "register {} does not exist", n.reg)) return;
    require(e->type == reg_type(n.reg), e, "register {} holds {}, not {}", n.reg,
            described(reg_type(n.reg)), described(e->type));
    require(written_[static_cast<std::size_t>(n.reg)], e,
            "register {} is read before anything here writes it{}", n.reg,
            in_parallel_ ? " (none is carried into a parallel loop)" : "");
  }

  // Checks a load (e is set) or a store (e is null).
  bool access(int id, const Expr& index, Type type, const Expr& mask, const Expr* e) {
    const char* what = e != nullptr ? "a load of" : "a store of";
    if (id < 0 || id >= static_cast<int>(program_.buffers.size())) {
      refuse("{} buffer {}, which does not exist", what, id);
      return false;
    }
    const Buffer& b = buffer(id);
    if (b.scope == Scope::kGroup && !grid_->has_items())
      refuse("{} {}, the memory of a group, where no group has items", what, b.name);
    if (b.dtype != type.dtype)
      refuse("{} {} to {}, which holds {}", what, described(type), b.name, name_of(b.dtype));
    const Type i = index->type;
    if (i.dtype != Dtype::kI64 || (i.lanes != 1 && i.lanes != type.lanes))
      refuse("{} {} at an index of type {} (of {})", what, described(type), described(i), b.name);
    if (mask && mask->type != Type{Dtype::kBool, type.lanes})
      refuse("{} {} under a mask of type {} (of {})", what, described(type), described(mask->type),
             b.name);
    return fault_.empty();
  }

  // Statements.
  void visit(const Stmt& s) {
    if (!fault_.empty()) return;
    if (!s) return refuse("a statement is missing");
    std::visit([&](const auto& n) { check(n); }, s->value);
  }
  void check(const Seq& n) {
    const std::size_t lets = scope_.size();
    for (const Stmt& s : n.stmts) visit(s);
    for (; scope_.size() > lets; scope_.pop_back())
      visible_[static_cast<std::size_t>(scope_.back())] = 0;
  }
  void scoped(const Stmt& s) {
    const std::size_t lets = scope_.size();
    visit(s);
    for (; scope_.size() > lets; scope_.pop_back())
      visible_[static_cast<std::size_t>(scope_.back())] = 0;
  }
  bool define(int id) {
    if (id < 0 || id >= static_cast<int>(visible_.size())) {
      refuse("variable {} does not exist", id);
      return false;
    }
    if (defined_[static_cast<std::size_t>(id)]) {
      refuse("variable {} ({}) is defined twice", id, program_.vars[static_cast<std::size_t>(id)]);
      return false;
    }
    defined_[static_cast<std::size_t>(id)] = visible_[static_cast<std::size_t>(id)] = 1;
    return true;
  }
  void check(const For& n) {
    expression(n.begin), expression(n.end);
    if (!fault_.empty()) return;
    if (!define_loop(n)) return;
    const bool differs = differing_.of(n.begin) || differing_.of(n.end);
    differing_.set(n.var, differs);
    divergent_ += differs ? 1 : 0;
    serial_body(n.body);
    divergent_ -= differs ? 1 : 0;
    visible_[static_cast<std::size_t>(n.var)] = 0;
  }
  void check(const Region& n) {
    if (in_parallel_) return refuse("a parallel region inside a parallel region");
    if (n.phases.empty()) return refuse("a parallel region without phases");
    for (const For& phase : n.phases) expression(phase.begin), expression(phase.end);
    for (const For& phase : n.phases) {
      if (!fault_.empty() || !define_loop(phase)) return;
      parallel_body(phase.body);
      visible_[static_cast<std::size_t>(phase.var)] = 0;
    }
  }
  bool define_loop(const For& n) {
    const Type i64{Dtype::kI64, 1};
    if (n.begin->type == i64 && n.end->type == i64) return define(n.var);
    refuse("bounds of a loop are not i64 scalars");
    return false;
  }
  // A later iteration may read what an earlier one wrote.
  void serial_body(const Stmt& body) {
    mark_writes(body);
    scoped(body);
  }
  void parallel_body(const Stmt& body) {
    in_parallel_ = true;
    std::vector<char> before(program_.regs.size());
    std::swap(before, written_);
    scoped(body);
    in_parallel_ = false;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (written_[i]) before[i] = 0;
    written_ = std::move(before);
  }
  void mark_writes(const Stmt& s) {
    if (!s) return;
    if (const auto* w = std::get_if<RegWrite>(&s->value); w != nullptr && has_reg(w->reg))
      written_[static_cast<std::size_t>(w->reg)] = 1;
    if (const auto* w = std::get_if<Exchange>(&s->value); w != nullptr && has_reg(w->reg))
      written_[static_cast<std::size_t>(w->reg)] = 1;
    each_part(*s, [](const Expr&) {}, [&](const Stmt& inner) { mark_writes(inner); });
  }
  void check(const If& n) {
    expression(n.condition);
    if (!fault_.empty()) return;
    if (n.condition->type != Type{Dtype::kBool, 1})
      return refuse("an if on a condition of type {}", described(n.condition->type));
    const bool differs = differing_.of(n.condition);
    divergent_ += differs ? 1 : 0;
    scoped(n.then);
    if (n.otherwise) scoped(n.otherwise);
    divergent_ -= differs ? 1 : 0;
  }
  void check(const Let& n) {
    expression(n.value);
    if (!fault_.empty()) return;
    if (n.value->type != Type{Dtype::kI64, 1})
      return refuse("a let of type {}", described(n.value->type));
    if (!define(n.var)) return;
    differing_.set(n.var, differing_.of(n.value));
    scope_.push_back(n.var);
  }
  void check(const Store& n) {
    expression(n.index), expression(n.value);
    if (n.mask) expression(n.mask);
    if (!fault_.empty() || !access(n.buffer, n.index, n.value->type, n.mask, nullptr)) return;
    const Buffer& b = buffer(n.buffer);
    if (b.scope == Scope::kInput || b.scope == Scope::kLiteral)
      refuse("a store to {}, which is read-only", b.name);
    if (b.scope == Scope::kConstant && !preparing_)
      refuse("run stores to {}, which prepare fills", b.name);
    if (b.scope == Scope::kOutput && preparing_) refuse("prepare stores to the output {}", b.name);
  }
  void check(const RegWrite& n) {
    expression(n.value);
    if (fault_.empty()) check_written(n.reg, n.value->type);
  }
  void check_written(int reg, Type type) {
    if (!has_reg(reg)) return refuse("register {} does not exist", reg);
    if (type != reg_type(reg))
      return refuse("register {} holds {}, not {}", reg, described(reg_type(reg)), described(type));
    written_[static_cast<std::size_t>(reg)] = 1;
  }
  void check(const PrefetchAt& n) {
    expression(n.index);
    if (fault_.empty()) access(n.buffer, n.index, {buffer_dtype(n.buffer), 1}, nullptr, nullptr);
  }

  // What the items of a group do together.
  bool has_group(const char* what) {
    if (!grid_->has_items()) refuse("{} where no group has items", what);
    return fault_.empty();
  }
  bool all_items_come(const char* what) {
    if (has_group(what) && divergent_ > 0) refuse("{} where not all items of a group come", what);
    return fault_.empty();
  }
  void check(const Barrier&) { all_items_come("a barrier"); }
  void check(const AsyncCopy& n) {
    expression(n.to_index), expression(n.from_index);
    if (n.condition) expression(n.condition);
    const Type type{buffer_dtype(n.from), n.lanes};
    if (!fault_.empty() || !has_group("an asynchronous copy") ||
        !access(n.to, n.to_index, type, nullptr, nullptr) ||
        !access(n.from, n.from_index, type, nullptr, nullptr))
      return;
    fault_ = fault_of(program_, n);
    if (preparing_ && !is_constant(buffer(n.from)))
      refuse("prepare copies from {}, which is not constant", buffer(n.from).name);
  }
  void check(const CommitCopies&) { has_group("a batch of copies"); }
  void check(const AwaitCopies& n) {
    if (has_group("a wait for copies") && n.pending < 0)
      refuse("a wait for all but {} batches of copies", n.pending);
  }
  void check(const Exchange& n) {
    expression(n.value);
    if (!fault_.empty() || !all_items_come("an exchange")) return;
    fault_ = fault_of(*grid_, n);
    if (fault_.empty()) check_written(n.reg, n.value->type);
  }

  bool has_reg(int reg) const { return reg >= 0 && reg < static_cast<int>(program_.regs.size()); }
  Type reg_type(int reg) const { return program_.regs[static_cast<std::size_t>(reg)]; }
  const Buffer& buffer(int id) const { return program_.buffers[static_cast<std::size_t>(id)]; }
  Dtype buffer_dtype(int id) const {
    return id >= 0 && id < static_cast<int>(program_.buffers.size()) ? buffer(id).dtype
                                                                     : Dtype::kF32;
  }

  const Program& program_;
  const bool preparing_;
  const Grid* grid_ = nullptr;
  bool in_parallel_ = false;
  int divergent_ = 0;  // loops and branches around that differ among the items of a group
  Differing differing_;
  // Visible_ and defined_ have an entry for each variable, written_ one for each register.
  std::vector<char> visible_, defined_, written_;
  std::vector<int> scope_;                   // lets that are visible now
  std::unordered_set<const Node*> checked_;  // shared nodes of this expression that were checked
  std::string fault_;
};

Status verify_kernels(const Program& program) {
  std::vector<char> runs(program.kernels.size());
  for (const auto* sequence : {&program.prepare, &program.run})
    for (const int k : *sequence) {
      if (k < 0 || k >= static_cast<int>(runs.size()))
        return fail(ErrorKind::kInternal, "kernel {} does not exist", k);
      runs[static_cast<std::size_t>(k)] = 1;
    }
  std::unordered_set<std::string> names;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const std::string& name = program.kernels[k].name;
    if (!runs[k]) return fail(ErrorKind::kInternal, "kernel {} ({}) never runs", k, name);
    if (!names.insert(name).second)
      return fail(ErrorKind::kInternal, "two kernels are named {}", name);
  }
  return {};
}

Status verify_kernel(const Program& program, int kernel, bool preparing) {
  return Verifier(program, preparing).run(program.kernels[static_cast<std::size_t>(kernel)]);
}

}  // namespace

Status verify(const Program& program) {
  for (const Buffer& b : program.buffers) LATHE_TRY_STATUS(verify_buffer(program, b));
  if (program.run.empty()) return fail(ErrorKind::kInternal, "the program runs nothing");
  LATHE_TRY_STATUS(verify_kernels(program));
  for (const int k : program.prepare) LATHE_TRY_STATUS(verify_kernel(program, k, true));
  for (const int k : program.run) LATHE_TRY_STATUS(verify_kernel(program, k, false));
  return {};
}

}  // namespace lathe::flat
