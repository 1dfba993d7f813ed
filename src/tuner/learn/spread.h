// Tells how exactly a recorded time was measured.
#pragma once

#include "tuner/store/store.h"

namespace lathe::learn {

// The spread relative to the record's time: the median deviation of its visits from each other or,
// of a single visit, of the times within it. 0 where that is unknown.
double spread_of(const store::Record& record);

}  // namespace lathe::learn
