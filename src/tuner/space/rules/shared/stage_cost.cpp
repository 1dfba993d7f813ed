#include "tuner/space/rules/shared/stage_cost.h"

#include <algorithm>

#include "compiler/ir/expr/effort.h"

namespace lathe::space {
namespace {

// Of a vector: an operation, of which two start in a cycle; a function such as exp; a load or
// store beside these.
constexpr double kOperation = 0.5, kFunction = 12, kAccess = 0.5;

}  // namespace

double cycles_of(const te::Workload& workload, const te::Stage& stage, int lanes) {
  if (workload.tensors[static_cast<std::size_t>(stage.tensor)].constant) return 0;
  double vectors = 1, operations = 0, accesses = 0;
  for (const te::Iterator& it : stage.iters) vectors *= static_cast<double>(it.extent);
  vectors /= lanes;
  ir::for_each_node(stage.body, [&](const ir::Expr& e) {
    if (const auto* unary = std::get_if<ir::Unary>(&e->value))
      operations += ir::effort_of(unary->op) == ir::Effort::kShort ? kOperation : kFunction;
    if (std::holds_alternative<ir::Binary>(e->value)) operations += kOperation;
    if (std::holds_alternative<ir::Read>(e->value) || std::holds_alternative<ir::Lookup>(e->value))
      accesses += kAccess;
  });
  // A product is added up by the instruction that makes it, from what a tile keeps in registers.
  if (stage.reduce != ir::ReduceOp::kNone) return vectors * std::max(operations, kOperation);
  return vectors * (operations + accesses + kAccess);
}

}  // namespace lathe::space
