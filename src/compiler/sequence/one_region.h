// One parallel region for a program of many kernels.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::sequence {

// Makes what runs one kernel, in which as much as possible is one parallel region: the phases of
// kernels follow each other with a barrier between them, and what is serial is a phase of one
// iteration. So threads are called together once, not for each kernel. For processors: no kernel of
// run has a grid. Loops around regions stay between regions.
flat::Program in_one_region(flat::Program program);

}  // namespace lathe::sequence
