// Layouts of inputs and outputs that the schedule may lay out.
#include "tuner/space/rules/tile/free_layouts.h"

namespace lathe::space {
namespace {

using schedule::LayoutItem;

std::vector<LayoutItem> blocked_layout(std::size_t dims, int dim, std::int64_t block) {
  std::vector<LayoutItem> items;
  for (int d = 0; d < static_cast<int>(dims); ++d)
    items.push_back({d, d == dim ? block : std::int64_t{1}});
  if (block > 1) items.push_back({dim, std::int64_t{1}});
  return items;
}

int input_block_dim(const TileRule& rule, const Axes& axes, int t, int output_dim) {
  const te::Stage& stage = rule.workload.stages[axes.stage];
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (read->tensor != t) continue;
    if (const int d = plain_dim(read->index, axes.vector); d >= 0) return d;
    if (rule.channel_block(axes) > 1) return dim_along(axes, read->index, axes.reduce);
    return -1;
  }
  // Only fused consumers read it, like a residual: it is stored like the result.
  const auto& tensors = rule.workload.tensors;
  return tensors[t].shape == tensors[stage.tensor].shape ? output_dim : -1;
}

}  // namespace

std::vector<schedule::Layout> free_layouts_of(const TileRule& rule, const Axes& axes) {
  std::vector<schedule::Layout> out;
  if (!rule.workload.contract.free_layout) return out;
  const te::Stage& stage = rule.workload.stages[axes.stage];
  const auto& tensors = rule.workload.tensors;
  const int v = plain_dim(written_index(stage), axes.vector);
  for (int t = 0; t < static_cast<int>(tensors.size()); ++t) {
    const te::Tensor& tensor = tensors[t];
    int dim = -1;
    if (tensor.role == te::TensorRole::kOutput && tensor.shape == tensors[stage.tensor].shape)
      dim = v;
    if (tensor.role == te::TensorRole::kInput && !tensor.constant)
      dim = input_block_dim(rule, axes, t, v);
    if (dim < 0 || tensor.shape[dim] < rule.lanes) continue;
    out.push_back({tensor.name, blocked_layout(tensor.shape.size(), dim, rule.lanes), 0});
  }
  return out;
}

}  // namespace lathe::space
