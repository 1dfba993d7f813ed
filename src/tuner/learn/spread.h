// Tells how exactly a recorded time was measured.
#pragma once

#include "tuner/store/store.h"

namespace lathe::learn {

// The spread relative to the record's time: how far its visits lie apart in the median or, with a
// single visit, how far the times within it do. 0: not known.
double spread_of(const store::Record& record);

}  // namespace lathe::learn
