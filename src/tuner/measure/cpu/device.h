// This machine's processor as a device.
#pragma once

#include "tuner/measure/device.h"

namespace lathe::measure::cpu {

const Device& device();

}  // namespace lathe::measure::cpu
