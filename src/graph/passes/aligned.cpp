#include "graph/passes/aligned.h"

#include <algorithm>
#include <set>

namespace lathe::graph {
namespace {

const te::Tensor& tensor_at(const te::Workload& expression, int tensor) {
  return expression.tensors[static_cast<std::size_t>(tensor)];
}

// True if the read is at the stage's own element.
bool is_in_place(const te::Stage& stage, const ir::Read& read) {
  for (std::size_t d = 0; d < read.index.size(); ++d) {
    const bool alone = d < stage.iters.size() && stage.iters[d].extent == 1;
    if (read.index[d] != ir::Affine::iter(static_cast<int>(d)) &&
        !(alone && read.index[d] == ir::Affine::constant(0)))
      return false;
  }
  return read.index.size() == stage.iters.size();
}

}  // namespace

bool is_pointwise(const te::Workload& expression) {
  return std::ranges::all_of(expression.stages, [](const te::Stage& stage) {
    return stage.reduce == ir::ReduceOp::kNone && ir::lookups_of(stage.body).empty() &&
           std::ranges::count(ir::tensors_of(stage.body), stage.tensor) == 0;
  });
}

bool is_aligned(const te::Workload& expression, const std::vector<int>& inputs) {
  if (inputs.empty() || !is_pointwise(expression)) return false;
  std::set<int> aligned(inputs.begin(), inputs.end());
  const std::vector<std::int64_t>& shape = tensor_at(expression, inputs[0]).shape;
  for (const int input : inputs)
    if (tensor_at(expression, input).shape != shape) return false;
  for (const te::Stage& stage : expression.stages) {
    bool follows = false;
    for (const ir::Read* read : ir::reads_of(stage.body)) {
      if (!aligned.contains(read->tensor)) continue;
      if (!is_in_place(stage, *read)) return false;
      follows = true;
    }
    if (!follows) continue;
    if (tensor_at(expression, stage.tensor).shape != shape) return false;
    aligned.insert(stage.tensor);
  }
  return std::ranges::all_of(expression.outputs(), [&](int t) { return aligned.contains(t); });
}

}  // namespace lathe::graph
