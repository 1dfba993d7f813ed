// A recording for Kernel Tuner, whose strategies then search it in its simulation mode.
#pragma once

#include "base/json.h"
#include "research/recorded/recording.h"

namespace lathe::recorded {

// Writes Kernel Tuner's cache file, with times in milliseconds. Structural choices are numbers,
// because most of its strategies compute with values; "labels" says what they mean.
Json kernel_tuner_cache(const Recording& recording);

}  // namespace lathe::recorded
