#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

using flat::Expr;
using flat::Region;
using flat::Stmt;

// Whether it has its value before the phases of an earlier region have run.
bool is_known_before(const Expr& e) {
  bool known = !std::holds_alternative<flat::Load>(e->value);
  flat::each_operand(*e, [&](const Expr& x) { known = known && is_known_before(x); });
  return known;
}

bool may_follow(const Region& region) {
  for (const flat::For& phase : region.phases)
    if (!is_known_before(phase.begin) || !is_known_before(phase.end)) return false;
  return true;
}

Stmt joined(const Stmt& s) {
  if ((s->contents & flat::contents::kRegion) == 0) return s;
  const auto* list = std::get_if<flat::Seq>(&s->value);
  if (list == nullptr) return flat::map_parts(s, [](const Expr& e) { return e; }, joined);
  std::vector<Stmt> out;
  for (const Stmt& inner : list->stmts) {
    Stmt next = joined(inner);
    const auto* before = out.empty() ? nullptr : std::get_if<Region>(&out.back()->value);
    const auto* region = std::get_if<Region>(&next->value);
    if (before == nullptr || region == nullptr || !may_follow(*region)) {
      out.push_back(std::move(next));
      continue;
    }
    std::vector<flat::For> phases = before->phases;
    phases.insert(phases.end(), region->phases.begin(), region->phases.end());
    out.back() = flat::region(std::move(phases));
  }
  return flat::seq(std::move(out));
}

}  // namespace

flat::Program join_regions(flat::Program program, const Target&) {
  for (flat::Kernel& kernel : program.kernels) kernel.body = joined(kernel.body);
  return program;
}

}  // namespace lathe::lower
