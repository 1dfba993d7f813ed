// What a recorded time was measured to within.
#pragma once

#include "tuner/store/store.h"

namespace lathe::learn {

// Relative to the record's time: the median deviation of its visits from each other, or of the
// times within the only visit. 0 where there is nothing to judge by.
double spread_of(const store::Record& record);

}  // namespace lathe::learn
