// This machine's card, as the measurer sees it.
#pragma once

#include "tuner/measure/device.h"

namespace lathe::measure::cuda {

const Device& device();

}  // namespace lathe::measure::cuda
