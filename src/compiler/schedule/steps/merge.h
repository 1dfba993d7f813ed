#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes neighbouring loops of a block one, where all that the block reads and writes goes through
// the same neighbouring dimensions in the same order: these become one dimension, too, for every
// block that touches them, and the elements stay where they are. So the pixels of a 1x1
// convolution are one long axis, which no tile has to end at the end of a row. Each loop must be as
// the workload has it, and be the block's alone; the first is the slowest.
struct Merge {
  std::vector<std::string> loops;  // "Y.y", "Y.x": makes "Y.yx", and the like in other blocks

  static constexpr const char* kName = "merge";
  static auto fields() { return std::tuple{Field{"loops", &Merge::loops}}; }
  std::string text() const;
};

// Of buffers at the border, lowered programs keep the merged shape (driver::lowered gives them
// the workload's again): so it is for row-major borders.
StepResult<void> apply_step(ir::Nest& nest, const Merge& step, bool free_layout);

}  // namespace lathe::schedule
