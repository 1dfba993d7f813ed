#include "tuner/feature/program_plan.h"

namespace lathe::feature {
namespace {

std::variant<Plan, TreePlan> plan_of(Kind kind, const ir::Nest& nest) {
  if (kind == Kind::kTree) return TreePlan(nest);
  return Plan(nest);
}

}  // namespace

ProgramPlan::ProgramPlan(Kind kind, const ir::Nest& nest)
    : kind_(kind), plan_(plan_of(kind, nest)) {
  LATHE_CHECK(kind != Kind::kConfiguration);
}

void ProgramPlan::row(std::span<const std::int64_t> values, float* out) const {
  if (const auto* tree = std::get_if<TreePlan>(&plan_)) return tree->row(values, out);
  (kind_ == Kind::kContext ? context_row : relation_row)(std::get<Plan>(plan_), values, out);
}

int program_width(Kind kind) {
  switch (kind) {
    case Kind::kConfiguration: break;
    case Kind::kContext: return context_width();
    case Kind::kRelation: return relation_width();
    case Kind::kTree: return tree_width();
  }
  return 0;
}

}  // namespace lathe::feature
