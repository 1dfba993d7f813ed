// Where a search of a program with Strassen's algorithm starts.
#pragma once

#include "tuner/space/rules/strassen/strassen.h"

namespace lathe::space {

// The direct product's knobs are set already.
void set_starts(const StrassenRule& rule, Derived& derived);

}  // namespace lathe::space
