#include "compiler/te/naive_nest.h"

#include <algorithm>

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
  nest.children(parent).push_back({ir::Item::Kind::kBlock, static_cast<int>(nest.blocks.size())});
  nest.blocks.push_back(std::move(block));

  ir::Buffer& written = nest.buffers[static_cast<std::size_t>(stage.tensor)];
  written.constant = written.scope == ir::Scope::kMemory &&
                     std::ranges::all_of(ir::tensors_of(stage.body), [&](int read) {
                       return nest.buffers[static_cast<std::size_t>(read)].constant;
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
