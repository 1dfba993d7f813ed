#include "compiler/te/naive_nest.h"

#include <algorithm>

#include "compiler/te/scan.h"
#include "compiler/te/softmax_exponents.h"

namespace lathe::te {
namespace {

ir::Scope scope_of(TensorRole role) {
  switch (role) {
    case TensorRole::kInput: return ir::Scope::kInput;
    case TensorRole::kLiteral: return ir::Scope::kLiteral;
    case TensorRole::kIntermediate: return ir::Scope::kMemory;
    case TensorRole::kOutput: return ir::Scope::kOutput;
  }
  return ir::Scope::kMemory;
}

ir::Buffer buffer_of(const Tensor& tensor, ir::Sizes& sizes) {
  ir::Buffer buffer;
  buffer.name = tensor.name;
  buffer.dtype = tensor.dtype;
  for (const std::int64_t size : tensor.shape) buffer.shape.push_back(sizes.constant(size));
  buffer.scope = scope_of(tensor.role);
  buffer.constant = tensor.constant || tensor.role == TensorRole::kLiteral;
  buffer.literal = tensor.literal;
  return buffer;
}

// The axis of a backward scan runs from its end: iteration i is for the element n-1-i.
void turn_round(const Stage& stage, ir::Block& block) {
  const auto scan = scan_of(stage);
  if (!scan || !scan->backward) return;
  const auto axis = static_cast<std::size_t>(scan->iter);
  std::vector<ir::Affine> turned;
  for (std::size_t i = 0; i < stage.iters.size(); ++i)
    turned.push_back(ir::Affine::iter(static_cast<int>(i)));
  const std::int64_t last = stage.iters[axis].extent - 1;
  turned[axis] = turned[axis] * -1 + ir::Affine::constant(last);
  block.index[axis] = turned[axis];
  block.body = ir::rewrite_leaves(block.body, [&](const ir::Expr& leaf) {
    if (const auto* read = std::get_if<ir::Read>(&leaf->value)) {
      std::vector<ir::Affine> index;
      for (const ir::Affine& row : read->index) index.push_back(ir::substitute(row, turned));
      return ir::read(read->tensor, std::move(index), leaf->dtype, read->pad);
    }
    const auto* value = std::get_if<ir::IterValue>(&leaf->value);
    if (value == nullptr || value->iter != scan->iter) return leaf;
    return ir::binary(ir::BinaryOp::kSub, ir::constant(static_cast<double>(last), Dtype::kI64),
                      leaf);
  });
}

// Adds the stage's loops, each the only child of the one before, and the block inside the last.
void add_stage(const Workload& workload, const Stage& stage, ir::Nest& nest) {
  ir::Block block;
  block.name = workload.tensors[static_cast<std::size_t>(stage.tensor)].name;
  ir::LoopId parent = ir::kRoot;
  for (std::size_t i = 0; i < stage.iters.size(); ++i) {
    const Iterator& iter = stage.iters[i];
    const bool spatial = iter.kind == IterKind::kSpatial;
    const ir::SizeId extent = nest.sizes.constant(iter.extent);
    const auto loop = static_cast<ir::LoopId>(nest.loops.size());
    ir::Loop made;
    made.name = block.name + "." + iter.name;
    made.extent = extent;
    made.parent = parent;
    nest.loops.push_back(std::move(made));
    nest.children(parent).push_back({ir::Item::Kind::kLoop, loop});
    ir::BlockIter block_iter;
    block_iter.name = iter.name;
    block_iter.extent = extent;
    block_iter.kind = spatial ? ir::IterKind::kSpatial : ir::IterKind::kReduce;
    block_iter.digits = {ir::LoopDigit{loop, nest.sizes.constant(1)}};
    block.iters.push_back(std::move(block_iter));
    if (spatial) block.index.push_back(ir::Affine::iter(static_cast<int>(i)));
    parent = loop;
  }
  block.writes = stage.tensor;
  block.reduce = stage.reduce;
  block.body = bound_exponents(workload, stage);
  block.parent = parent;
  turn_round(stage, block);
  nest.children(parent).push_back({ir::Item::Kind::kBlock, static_cast<int>(nest.blocks.size())});
  nest.blocks.push_back(std::move(block));

  ir::Buffer& written = nest.buffers[static_cast<std::size_t>(stage.tensor)];
  written.constant =
      written.scope == ir::Scope::kMemory &&
      std::ranges::all_of(ir::tensors_of(stage.body), [&](int read) {
        return read == stage.tensor || nest.buffers[static_cast<std::size_t>(read)].constant;
      });
}

}  // namespace

ir::Nest naive_nest(const Workload& workload) {
  ir::Nest nest;
  for (const Tensor& tensor : workload.tensors)
    nest.buffers.push_back(buffer_of(tensor, nest.sizes));
  for (const Stage& stage : workload.stages) add_stage(workload, stage, nest);
  return nest;
}

}  // namespace lathe::te
