// A kernel that shows the machine's peak: in registers, with as many independent multiply-adds as
// fill the units.
#pragma once

#include "base/target.h"
#include "tuner/measure/device.h"

namespace lathe::measure::cpu {

// "x" has 16 numbers.
PeakKernel peak_kernel(const CpuTarget& target);

}  // namespace lathe::measure::cpu
