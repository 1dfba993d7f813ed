// A program for cards as tests look at it: flat, as an image, executed by this processor.
#pragma once

#include <string>

#include "compiler/ir/flat/flat.h"
#include "runtime/device/cuda/image.h"
#include "tuner/space/space.h"

namespace lathe::testing {

struct CardProgram {
  te::Workload workload;
  flat::Program program;
  cuda::Image image;
  double milliseconds = 0;  // of the processor, from flat program to PTX
};

Result<CardProgram> card_program(const space::Space& space, const space::Config& config,
                                 const Target& target);
// Executes it, and compares some elements of each output, the first and the last among them.
// Returns "right", or else what is wrong.
Result<std::string> compared(const CardProgram& made, const Target& target);

}  // namespace lathe::testing
