// A kernel that shows the machine's peak: in registers, with as many independent multiply-adds as
// fill the units.
#pragma once

#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::builder {

struct PeakKernel {
  flat::Program program;  // reads an input "x" of 16 numbers, writes "y"
  double flops = 0;       // of one run
};
PeakKernel peak_kernel(const CpuTarget& target);

}  // namespace lathe::builder
