// What a program asks of the load units for each of its multiplications.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::builder {

// Loads of vectors or scalars over multiplications of them, weighted by how often loops run; equal
// loads between two branches of control are one. 0: nothing is multiplied.
double loads_per_multiply(const flat::Program& program);

}  // namespace lathe::builder
