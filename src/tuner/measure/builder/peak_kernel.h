// The machine's peak: as many independent multiply-adds as it takes to fill the units, in
// registers.
#pragma once

#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::builder {

struct PeakKernel {
  flat::Program program;  // reads an input "x" of two numbers, writes "y"
  double flops = 0;       // of one run
};
PeakKernel peak_kernel(const CpuTarget& target);

}  // namespace lathe::builder
