// Stages that go through rows together as one kernel. A block has some rows; a thread, a warp or
// several warps share a row. Each thread has the same elements of a row in all stages, so they stay
// in its registers; reductions are exchanged in a warp, and between warps in shared memory.
//
//   blocks: rows
//     threads: rows of the block; y: warps of a row; x: lanes of a warp
//       turns of all threads along the row; elements of a vector
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tuner/space/rules/cuda/row_stages.h"
#include "tuner/space/rules/shared/stepper.h"

namespace lathe::space {

// Where a row is between its stages.
enum class KeptRow { kRegisters, kShared, kMemory };

struct RowSizes {
  std::int64_t lanes = 32;  // of a warp that share a row: 32, or 1: a thread has it for itself
  std::int64_t warps = 1;   // that share a row
  std::int64_t width = 1;   // of vectors, in elements
  KeptRow kept = KeptRow::kRegisters;
  ir::SizeId rows;    // of a block
  ir::SizeId unroll;  // turns that are written out, where a row is in no registers
};

// Throws StepRefused.
void put_rows_on_blocks(const RowStages& rows, const RowSizes& sizes, ir::Nest& nest,
                        schedule::Trace& trace, std::set<std::string>& placed);

}  // namespace lathe::space
