// A recording for Kernel Tuner, whose strategies then search it in its simulation mode.
#pragma once

#include "base/json.h"
#include "research/recorded/recording.h"

namespace lathe::recorded {

// Its cache file: times in milliseconds. Structural choices are numbers, since most of its
// strategies reckon with values; what they mean is in "labels".
Json kernel_tuner_cache(const Recording& recording);

}  // namespace lathe::recorded
