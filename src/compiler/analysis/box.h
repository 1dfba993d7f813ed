// Boxes: which elements of a buffer one iteration of a loop touches. Where compute_at must compute,
// how large a cache is and the features' touch counts are all this one question (worked example:
// docs/nest.md).
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

// One dimension of a box, in one iteration of a loop: coordinates start + [0, extent), where
//   start = offset + sum of weight * ((loop / div) % mod)
// over loops outside, `loop` itself included.
struct Span {
  std::vector<ir::Digit> start;  // sorted by loop
  ir::SizeId offset;
  ir::SizeId extent;
  // Every coordinate in it is touched. (A strided access leaves holes, and so do loops in an order
  // that leaves the less significant digits outside.)
  bool dense = false;
};
using Box = std::vector<Span>;

// What `rows`, affine in the iterators of `block`, reach in one iteration of `loop` (kRoot: in the
// whole program). New sizes go into the nest's table. Extents are not cut at the tensor's border.
Span span_of(ir::Nest& nest, ir::BlockId block, const ir::Affine& row, ir::LoopId loop);
Box box_of(ir::Nest& nest, ir::BlockId block, const std::vector<ir::Affine>& rows, ir::LoopId loop);

bool same_start(const Span& a, const Span& b);

// The smallest span around both if they start together up to an offset; else `whole`.
Span united(ir::Sizes& sizes, const Span& a, const Span& b, const Span& whole);

// What all blocks inside `loop` read of `buffer`; dimensions that no common start describes span
// the whole tensor. Empty if there is no such read.
Box box_read(ir::Nest& nest, ir::BufferId buffer, ir::LoopId loop);

// One past the largest sum of weight * digit.
ir::SizeId reach_of(ir::Nest& nest, const std::vector<ir::Digit>& digits);
// weight * digit over these digits never reaches the extent: known for all sizes.
bool stays_below(ir::Nest& nest, const std::vector<ir::Digit>& digits, ir::SizeId extent);

// span_of with sizes known, for a row of a block: the extent, cut at the iterators' domains.
// Allocates nothing.
std::int64_t extent_of(const ir::SizedNest& nest, const ir::Block& block, const ir::Affine& row,
                       ir::LoopId loop);
// Elements in the box: the product over the rows.
std::int64_t elements_of(const ir::SizedNest& nest, const ir::Block& block,
                         std::span<const ir::Affine> rows, ir::LoopId loop);

}  // namespace lathe::analysis
