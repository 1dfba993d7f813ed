#include "compiler/sharing/values.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::sharing {
namespace {

using flat::Expr;

struct Evaluator {
  const Values& values;
  int lane;
  Dtype dtype = Dtype::kI64;

  std::int64_t of(const Expr& e) const {
    return std::visit(Evaluator{values, lane, e->type.dtype}, e->value);
  }

  std::int64_t operator()(const flat::IntImm& n) const { return n.value; }
  std::int64_t operator()(const flat::Var& n) const {
    return values[static_cast<std::size_t>(n.id)];
  }
  std::int64_t operator()(const flat::Unary& n) const {
    const std::int64_t x = of(n.x);
    if (n.op == flat::UnaryOp::kNot) return x == 0 ? 1 : 0;
    if (n.op == flat::UnaryOp::kNeg || (n.op == flat::UnaryOp::kAbs && x < 0))
      return *flat::evaluate(flat::BinaryOp::kSub, 0, x, dtype);
    if (n.op == flat::UnaryOp::kAbs) return x;
    throw DependsOnData{};
  }
  std::int64_t operator()(const flat::Binary& n) const {
    if (is_float(n.a->type.dtype)) throw DependsOnData{};
    const auto value = flat::evaluate(n.op, of(n.a), of(n.b), n.a->type.dtype);
    LATHE_CHECK(value, "an index expression has no value");
    return *value;
  }
  std::int64_t operator()(const flat::Fma& n) const {
    return *flat::evaluate(flat::BinaryOp::kAdd,
                           *flat::evaluate(flat::BinaryOp::kMul, of(n.a), of(n.b), dtype), of(n.c),
                           dtype);
  }
  std::int64_t operator()(const flat::Select& n) const {
    return of(n.condition) != 0 ? of(n.then) : of(n.otherwise);
  }
  std::int64_t operator()(const flat::Cast& n) const {
    if (is_float(n.x->type.dtype)) throw DependsOnData{};
    return flat::wrap(of(n.x), dtype);
  }
  std::int64_t operator()(const flat::Ramp& n) const {
    return Evaluator{values, 0}.of(n.base) + n.stride * lane;
  }
  std::int64_t operator()(const flat::Broadcast& n) const { return Evaluator{values, 0}.of(n.x); }
  std::int64_t operator()(const flat::FloatImm&) const { throw DependsOnData{}; }
  std::int64_t operator()(const flat::Bitcast&) const { throw DependsOnData{}; }
  std::int64_t operator()(const flat::Reduce&) const { throw DependsOnData{}; }
  std::int64_t operator()(const flat::Slide&) const { throw DependsOnData{}; }
  std::int64_t operator()(const flat::Load&) const { throw DependsOnData{}; }
  std::int64_t operator()(const flat::RegRead&) const { throw DependsOnData{}; }
};

void collect(const Expr& e, std::unordered_set<const flat::Node*>& seen, Vars& out) {
  if ((e->contents & flat::contents::kVar) == 0 || !seen.insert(e.get()).second) return;
  if (const auto* v = std::get_if<flat::Var>(&e->value)) out.push_back(v->id);
  flat::each_operand(*e, [&](const Expr& operand) { collect(operand, seen, out); });
}

// Adds factor * e; false if that is no sum.
bool add_linear(Linear& sum, const Expr& e, std::int64_t factor) {
  if (const auto value = flat::as_int(e)) {
    sum.constant += *value * factor;
    return true;
  }
  if (const auto* v = std::get_if<flat::Var>(&e->value)) {
    sum.terms.emplace_back(v->id, factor);
    return true;
  }
  const auto* n = std::get_if<flat::Binary>(&e->value);
  if (n == nullptr) return false;
  if (n->op == flat::BinaryOp::kAdd)
    return add_linear(sum, n->a, factor) && add_linear(sum, n->b, factor);
  if (n->op == flat::BinaryOp::kSub)
    return add_linear(sum, n->a, factor) && add_linear(sum, n->b, -factor);
  const auto by = flat::as_int(n->b);
  return n->op == flat::BinaryOp::kMul && by && add_linear(sum, n->a, factor * *by);
}

void sort_unique(Vars& vars) {
  std::ranges::sort(vars);
  const auto rest = std::ranges::unique(vars);
  vars.erase(rest.begin(), rest.end());
}

void remove(Vars& vars, int var) { std::erase(vars, var); }

}  // namespace

std::int64_t value_of(const Expr& e, const Values& values, int lane) {
  return Evaluator{values, lane}.of(e);
}

std::int64_t Linear::of(const Values& values) const {
  std::int64_t sum = constant;
  for (const auto& [var, factor] : terms) sum += factor * values[static_cast<std::size_t>(var)];
  return sum;
}

std::int64_t Linear::coefficient(int var) const {
  std::int64_t sum = 0;
  for (const auto& [each, factor] : terms) sum += each == var ? factor : 0;
  return sum;
}

std::optional<Linear> linear_of(const Expr& e) {
  Linear sum;
  if (e->type.dtype != Dtype::kI64 || !add_linear(sum, e, 1)) return std::nullopt;
  return sum;
}

Vars joined(const Vars& a, const Vars& b) {
  Vars out;
  std::ranges::set_union(a, b, std::back_inserter(out));
  return out;
}

Vars vars_of(const Expr& e) {
  std::unordered_set<const flat::Node*> seen;
  Vars out;
  collect(e, seen, out);
  sort_unique(out);
  return out;
}

const Vars& FreeVars::operator()(const flat::Stmt& s) {
  if (const auto known = known_.find(s); known != known_.end()) return known->second;
  Vars vars = find(*s);
  return known_.emplace(s, std::move(vars)).first->second;
}

Vars FreeVars::find_in(const flat::Seq& list) {
  Vars vars;
  for (std::size_t i = list.stmts.size(); i-- > 0;) {
    const auto* let = std::get_if<flat::Let>(&list.stmts[i]->value);
    if (let == nullptr) vars = joined(vars, (*this)(list.stmts[i]));
    else if (std::ranges::binary_search(vars, let->var)) {
      remove(vars, let->var);
      vars = joined(vars, vars_of(let->value));
    }
  }
  return vars;
}

Vars FreeVars::find(const flat::StmtNode& s) {
  const auto loop = [&](const flat::For& n) {
    Vars vars = (*this)(n.body);
    remove(vars, n.var);
    return joined(vars, joined(vars_of(n.begin), vars_of(n.end)));
  };
  if (const auto* n = std::get_if<flat::Seq>(&s.value)) return find_in(*n);
  if (const auto* n = std::get_if<flat::For>(&s.value)) return loop(*n);
  Vars vars;
  if (const auto* n = std::get_if<flat::Region>(&s.value)) {
    for (const flat::For& phase : n->phases) vars = joined(vars, loop(phase));
  } else if (const auto* n = std::get_if<flat::If>(&s.value)) {
    vars = joined(vars_of(n->condition), (*this)(n->then));
    if (n->otherwise) vars = joined(vars, (*this)(n->otherwise));
  } else if (of_ == Of::kAll) {
    flat::each_part(
        s, [&](const Expr& e) { vars = joined(vars, vars_of(e)); }, [](const flat::Stmt&) {});
  }
  return vars;
}

}  // namespace lathe::sharing
