// Boxes: which elements of a buffer one iteration of a loop touches. This one question tells where
// compute_at must compute, how large a cache is, and how much the features count as touched
// (docs/nest.md works through an example).
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

// One dimension of a box in one iteration of a loop: the coordinates start + [0, extent), where
//   start = offset + sum of weight * ((loop / div) % mod)
// over the loops outside, with `loop` itself.
struct Span {
  std::vector<ir::LoopDigit> start;  // sorted by loop
  ir::SizeId offset;
  ir::SizeId extent;
  // Every coordinate in the span is touched. A strided access leaves holes, and so do loops in an
  // order that leaves the less significant digits outside.
  bool dense = false;
};
using Box = std::vector<Span>;

// What `rows`, affine in the iterators of `block`, reach in one iteration of `loop` (kRoot: in the
// whole program), and in all iterations of the `relaxed` loops around. New sizes go into the nest's
// table. Extents are not cut at the tensor's edge.
Span span_of(ir::Nest& nest, ir::BlockId block, const ir::Affine& row, ir::LoopId loop,
             std::span<const ir::LoopId> relaxed = {});
Box box_of(ir::Nest& nest, ir::BlockId block, const std::vector<ir::Affine>& rows, ir::LoopId loop,
           std::span<const ir::LoopId> relaxed = {});

// True if two iterations of the loop, with those around it alike, may let the block write one
// element of what outlives them, be it the same value: those of a loop whose iterations run at the
// same time must not. While sizes are open, only of blocks that the loop does not drive; the rest
// is told once the trace is applied with numbers. With these, what is not proven counts as true.
bool writes_twice(ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

bool same_start(const Span& a, const Span& b);

// The smallest span around both, if they start together except for an offset; else `whole`.
Span united(ir::Sizes& sizes, const Span& a, const Span& b, const Span& whole);

// The box of all that blocks inside `loop` read of `buffer`. A dimension without a common start
// spans the whole tensor; all do where one reads at computed places. Empty if there is no such
// read.
Box box_read(ir::Nest& nest, ir::BufferId buffer, ir::LoopId loop,
             std::span<const ir::LoopId> relaxed = {});

// One past the largest sum of weight * digit.
ir::SizeId reach_of(ir::Nest& nest, const std::vector<ir::LoopDigit>& digits);
// True if the sum of weight * digit over these digits stays below the extent, whatever the sizes
// are.
bool stays_below(ir::Nest& nest, const std::vector<ir::LoopDigit>& digits, ir::SizeId extent);

// The extent of span_of for one row, with sizes known, cut at the iterators' domains. It allocates
// nothing.
std::int64_t extent_of(const ir::SizedNest& nest, const ir::Block& block, const ir::Affine& row,
                       ir::LoopId loop);

}  // namespace lathe::analysis
