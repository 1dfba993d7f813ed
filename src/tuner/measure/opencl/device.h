// This machine's device of OpenCL, as the measurer sees it.
#pragma once

#include "tuner/measure/device.h"

namespace lathe::measure::opencl {

const Device& device();

}  // namespace lathe::measure::opencl
