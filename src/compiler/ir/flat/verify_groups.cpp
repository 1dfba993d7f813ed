#include "compiler/ir/flat/verify_groups.h"

#include <fmt/format.h>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::flat {

bool Differing::of(const Expr& e) const {
  if ((e->contents & contents::kData) != 0) return true;
  if (const auto* v = std::get_if<Var>(&e->value))
    return differs_[static_cast<std::size_t>(v->id)] != 0;
  bool differs = false;
  if ((e->contents & contents::kVar) != 0)
    each_operand(*e, [&](const Expr& x) { differs = differs || of(x); });
  return differs;
}

namespace {

bool all_groups_see(Scope scope) {
  switch (scope) {
    case Scope::kInput:
    case Scope::kOutput:
    case Scope::kConstant:
    case Scope::kGlobal: return true;
    case Scope::kLiteral:
    case Scope::kShared:
    case Scope::kThread:
    case Scope::kGroup: return false;
  }
  return false;
}

}  // namespace

std::string fault_of(const Program& program, const AsyncCopy& n) {
  const Buffer& to = program.buffers[static_cast<std::size_t>(n.to)];
  const Buffer& from = program.buffers[static_cast<std::size_t>(n.from)];
  if (n.to_index->type.lanes != 1 || n.from_index->type.lanes != 1)
    return "an asynchronous copy between vectors of indices";
  if (n.condition && n.condition->type != Type{Dtype::kBool, 1})
    return fmt::format("an asynchronous copy on a condition of type {}",
                       name_of(n.condition->type.dtype));
  const int bytes = n.lanes * size_of(from.dtype);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return fmt::format("an asynchronous copy of {} bytes; 4, 8 and 16 can be copied", bytes);
  if (to.scope != Scope::kGroup)
    return fmt::format("an asynchronous copy to {}, which is not the memory of a group", to.name);
  if (!all_groups_see(from.scope))
    return fmt::format("an asynchronous copy from {}, which not all groups see", from.name);
  return "";
}

std::string fault_of(const Grid& grid, const Exchange& n) {
  if (grid.group_items() % kWarpItems != 0)
    return "an exchange in groups that do not fill whole warps";
  if (n.lane_mask < 1 || n.lane_mask >= kWarpItems)
    return fmt::format("an exchange with the item whose number differs by the mask {}",
                       n.lane_mask);
  if (n.value->type.lanes != 1 || n.value->type.dtype == Dtype::kBool)
    return fmt::format("an exchange of {} x {}", name_of(n.value->type.dtype), n.value->type.lanes);
  return "";
}

}  // namespace lathe::flat
