// What a program asks of the load units for each of its multiplications.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::builder {

// The number of loads over the number of multiplications, of vectors or scalars alike, weighted by
// how often loops run. Equal loads in one list of statements count once. 0: nothing is multiplied.
double loads_per_multiply(const flat::Program& program);

}  // namespace lathe::builder
