#include "compiler/te/naive_nest.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/te/recurrence.h"
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
void turn_round(const Stage& stage, int along, ir::Block& block) {
  const auto axis = static_cast<std::size_t>(along);
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
    if (value == nullptr || value->iter != along) return leaf;
    return ir::binary(ir::BinaryOp::kSub, ir::constant(static_cast<double>(last), Dtype::kI64),
                      leaf);
  });
}

// Loops that the stages of a recurrence have in common, by iterator; kRoot: each has its own.
using SharedLoops = std::vector<ir::LoopId>;

ir::LoopId add_loop(std::string name, std::int64_t extent, ir::LoopId parent, ir::Nest& nest) {
  const auto loop = static_cast<ir::LoopId>(nest.loops.size());
  ir::Loop made;
  made.name = std::move(name);
  made.extent = nest.sizes.constant(extent);
  made.parent = parent;
  nest.loops.push_back(std::move(made));
  nest.children(parent).push_back({ir::Item::Kind::kLoop, loop});
  return loop;
}

// Adds the stage's loops, but for those that it shares, which are outside of them, each the only
// child of the one before, and the block inside the last. With `in_steps` it has a loop of one
// iteration for each of the shared ones: then its loops are those of its dimensions, in each step.
// Steps from the end count down: so the stage reads and writes in its own coordinates, as in a
// step forward.
void add_stage(const Workload& workload, const Stage& stage, const SharedLoops& shared,
               bool in_steps, std::optional<Scan> scan, ir::Nest& nest) {
  ir::Block block;
  block.name = workload.tensors[static_cast<std::size_t>(stage.tensor)].name;
  ir::LoopId parent = ir::kRoot;
  for (const ir::LoopId loop : shared) parent = std::max(parent, loop);
  for (std::size_t i = 0; i < stage.iters.size(); ++i) {
    const Iterator& iter = stage.iters[i];
    const bool spatial = iter.kind == IterKind::kSpatial;
    const ir::SizeId one = nest.sizes.constant(1);
    ir::BlockIter block_iter;
    block_iter.name = iter.name;
    block_iter.extent = nest.sizes.constant(iter.extent);
    block_iter.kind = spatial ? ir::IterKind::kSpatial : ir::IterKind::kReduce;
    const ir::LoopId around = i < shared.size() ? shared[i] : ir::kRoot;
    const bool down = in_steps && around != ir::kRoot && scan && scan->backward;
    if (down) block_iter.offset = nest.sizes.constant(iter.extent - 1);
    if (around != ir::kRoot)
      block_iter.digits = {ir::LoopDigit{around, down ? nest.sizes.constant(-1) : one}};
    if (around == ir::kRoot || in_steps) {
      const std::int64_t own = around == ir::kRoot ? iter.extent : 1;
      parent = add_loop(block.name + "." + iter.name, own, parent, nest);
      block_iter.digits.push_back(ir::LoopDigit{parent, one});
    }
    block.iters.push_back(std::move(block_iter));
    if (spatial) block.index.push_back(ir::Affine::iter(static_cast<int>(i)));
  }
  block.writes = stage.tensor;
  block.reduce = stage.reduce;
  block.body = bound_exponents(workload, stage);
  block.parent = parent;
  if (scan && scan->backward && !in_steps) turn_round(stage, scan->iter, block);
  nest.children(parent).push_back({ir::Item::Kind::kBlock, static_cast<int>(nest.blocks.size())});
  nest.blocks.push_back(std::move(block));

  ir::Buffer& written = nest.buffers[static_cast<std::size_t>(stage.tensor)];
  written.constant =
      written.scope == ir::Scope::kMemory &&
      std::ranges::all_of(ir::tensors_of(stage.body), [&](int read) {
        return read == stage.tensor || nest.buffers[static_cast<std::size_t>(read)].constant;
      });
}

// The loop along the axis is around all stages of a recurrence. Where they are computed element by
// element, so are all others, in the order of the dimensions.
void add_recurrence(const Workload& workload, const Recurrence& recurrence, ir::Nest& nest) {
  const auto stage_of = [&](std::size_t p) -> const Stage& {
    return workload.stages[static_cast<std::size_t>(recurrence.stages[p])];
  };
  const Stage& first = stage_of(0);
  const std::string& name = workload.tensors[static_cast<std::size_t>(first.tensor)].name;
  const char* const step = recurrence.element_wise ? "" : ".step";
  SharedLoops all(first.iters.size(), ir::kRoot);
  ir::LoopId parent = ir::kRoot;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (recurrence.element_wise || std::cmp_equal(i, recurrence.axes[0]))
      all[i] = parent =
          add_loop(name + "." + first.iters[i].name + step, first.iters[i].extent, parent, nest);
  for (std::size_t p = 0; p < recurrence.stages.size(); ++p) {
    SharedLoops shared = all;
    if (!recurrence.element_wise) {
      shared.assign(stage_of(p).iters.size(), ir::kRoot);
      shared[static_cast<std::size_t>(recurrence.axes[p])] =
          all[static_cast<std::size_t>(recurrence.axes[0])];
    }
    add_stage(workload, stage_of(p), shared, !recurrence.element_wise,
              Scan{recurrence.axes[p], recurrence.backward}, nest);
  }
}

}  // namespace

ir::Nest naive_nest(const Workload& workload) {
  ir::Nest nest;
  for (const Tensor& tensor : workload.tensors)
    nest.buffers.push_back(buffer_of(tensor, nest.sizes));
  const std::vector<Recurrence> recurrences = recurrences_of(workload);
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    const auto in = std::ranges::find_if(
        recurrences, [&](const Recurrence& each) { return each.has(static_cast<int>(s)); });
    if (in == recurrences.end())
      add_stage(workload, workload.stages[s], {}, false, scan_of(workload.stages[s]), nest);
    else if (std::cmp_equal(in->stages.front(), s)) add_recurrence(workload, *in, nest);
  }
  return nest;
}

}  // namespace lathe::te
