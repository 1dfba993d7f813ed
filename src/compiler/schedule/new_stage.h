// Makes a block from nothing, with loops of its own at the top of the nest.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/edit.h"
#include "compiler/schedule/parts.h"

namespace lathe::schedule {

// A tensor of these sizes, which no block touches yet.
inline StepResult<ir::BufferId> add_buffer(ir::Nest& nest, const std::string& name, Dtype dtype,
                                           const std::vector<std::int64_t>& shape) {
  if (auto is_free = check_new_name(nest, name); !is_free) return std::unexpected(is_free.error());
  ir::Buffer buffer;
  buffer.name = name;
  buffer.dtype = dtype;
  for (const std::int64_t size : shape) buffer.shape.push_back(nest.sizes.constant(size));
  nest.buffers.push_back(std::move(buffer));
  return static_cast<ir::BufferId>(nest.buffers.size() - 1);
}

// A literal whose zeros stand for no term.
inline StepResult<ir::BufferId> add_sparse_literal(ir::Nest& nest, const std::string& name,
                                                   Dtype dtype,
                                                   const std::vector<std::int64_t>& shape,
                                                   std::vector<double> elements) {
  const ir::BufferId id = LATHE_TRY(add_buffer(nest, name, dtype, shape));
  ir::Buffer& buffer = nest.buffers[id];
  buffer.scope = ir::Scope::kLiteral;
  buffer.constant = true;
  buffer.sparse = true;
  buffer.literal = std::move(elements);
  return id;
}

// A new block while it is put together: its own loops, an iterator each, around its body.
class NewStage {
 public:
  // `position`: of its outermost loop among the nest's first items.
  NewStage(ir::Nest& nest, std::string name, int position) : nest_(nest), position_(position) {
    block_.name = std::move(name);
  }

  // Makes a loop, and an iterator that runs over it. The result has another dimension for each that
  // does not reduce.
  StepResult<int> add(const std::string& name, std::int64_t extent,
                      ir::IterKind kind = ir::IterKind::kSpatial) {
    const ir::LoopId loop = LATHE_TRY(add_loop_of(name, extent));
    ir::BlockIter iter{name, nest_.sizes.constant(extent), kind, {{loop, nest_.sizes.constant(1)}}};
    block_.iters.push_back(std::move(iter));
    const int number = static_cast<int>(block_.iters.size()) - 1;
    if (kind == ir::IterKind::kReduce) return number;
    block_.index.push_back(ir::Affine::iter(number));
    shape_.push_back(extent);
    return number;
  }
  // The same for each axis of an expression in the block.
  StepResult<void> add_axes(const ir::Block& block, const std::vector<ValueAxis>& axes) {
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const bool plain = axes[a].along.terms.size() == 1;
      const auto iter = static_cast<std::size_t>(axes[a].along.terms.front().iter);
      LATHE_TRY(add(plain ? block.iters[iter].name : "d" + std::to_string(a), axes[a].size));
    }
    return {};
  }
  StepResult<ir::LoopId> add_loop_of(const std::string& name, std::int64_t extent) {
    parent_ = LATHE_TRY(add_loop(nest_, block_.name + "." + name, nest_.sizes.constant(extent),
                                 parent_, parent_ == ir::kRoot ? position_ : -1));
    return parent_;
  }
  // An iterator over loops that others drive already. It indexes nothing that is written.
  int add_view(const std::string& name, std::int64_t extent, ir::LoopId loop) {
    block_.iters.push_back({name,
                            nest_.sizes.constant(extent),
                            ir::IterKind::kSpatial,
                            {{loop, nest_.sizes.constant(1)}}});
    return static_cast<int>(block_.iters.size()) - 1;
  }
  // An iterator of the reduction that several loops drive.
  int add_terms(const std::string& name, std::int64_t extent, std::vector<ir::LoopDigit> digits) {
    block_.iters.push_back(
        {name, nest_.sizes.constant(extent), ir::IterKind::kReduce, std::move(digits)});
    return static_cast<int>(block_.iters.size()) - 1;
  }
  // An iterator of the result that several loops drive.
  void add_digits(const std::string& name, std::int64_t extent, std::vector<ir::LoopDigit> digits) {
    block_.iters.push_back(
        {name, nest_.sizes.constant(extent), ir::IterKind::kSpatial, std::move(digits)});
    block_.index.push_back(ir::Affine::iter(static_cast<int>(block_.iters.size()) - 1));
  }

  ir::LoopId innermost() const { return parent_; }
  ir::SizeId size(std::int64_t value) { return nest_.sizes.constant(value); }
  const std::vector<std::int64_t>& shape() const { return shape_; }  // of the result, so far

  // The block writes this dimension in the other order.
  void turn_round(std::size_t dimension, ir::Affine index) {
    block_.index[dimension] = std::move(index);
  }

  // The block reduces its body over the iterators that do.
  void finish(ir::BufferId writes, ir::Expr body, ir::ReduceOp reduce = ir::ReduceOp::kSum) {
    block_.reduce = reduce;
    finish_map(writes, std::move(body));
  }
  // None of its iterators reduces.
  void finish_map(ir::BufferId writes, ir::Expr body) {
    block_.writes = writes;
    block_.body = std::move(body);
    add_block(nest_, std::move(block_), parent_, -1);
  }

 private:
  ir::Nest& nest_;
  int position_;
  ir::LoopId parent_ = ir::kRoot;
  ir::Block block_;
  std::vector<std::int64_t> shape_;
};

}  // namespace lathe::schedule
