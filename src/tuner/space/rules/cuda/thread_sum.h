// A long sum (or another reduction) whose elements nobody else needs: threads of a block share it,
// and their sums meet in a fixed order.
//
// Where the summed axis is contiguous, threads x go along it, in vectors. The lanes of a warp
// exchange their sums, and those of several warps meet in shared memory:
//   blocks: results; threads z: results of the block; y: warps; x: lanes
// else they go along the axis of the result that is contiguous, and all meet in shared memory:
//   blocks: results; threads x: results of the block, in vectors; y: the sum
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tuner/space/rules/opencl/item_tile.h"

namespace lathe::space {

inline constexpr std::int64_t kLanesOfSum = 32;
struct ThreadSumSizes {
  std::int64_t warps = 1;  // that share a sum, along the axis that is summed
  ir::SizeId threads;      // that share it along another
  ir::SizeId results;      // of a block, by threads along them
  ir::SizeId unroll;       // elements, or vectors of them, that a thread takes at a time
};

// How a stage is such a sum.
struct ThreadSum {
  int sum = -1;     // the iterator that threads share
  int result = -1;  // the iterator of the result that a block has several of
  bool along_sum = false;
  std::int64_t width = 1;  // of vectors along the contiguous axis, in elements
};
// -1 as `sum`: it is none.
ThreadSum thread_sum_of(const ItemStage& stage);

// Puts the stage on a grid, with the maps of its result that can follow it there, whose names are
// added to `placed`. Throws StepRefused.
void put_sum_on_threads(const ItemStage& stage, const ThreadSum& sum, const ThreadSumSizes& sizes,
                        ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed);

}  // namespace lathe::space
