// Where a search of a program with Cook-Toom algorithms starts.
#pragma once

#include "tuner/space/rules/cook_toom/cook_toom.h"

namespace lathe::space {

// Starts from the algorithm that promises the least time; the direct one's knobs are set already.
// Other starts are of the algorithms that promise little less.
void set_starts(const CookToomRule& rule, Derived& derived);

}  // namespace lathe::space
