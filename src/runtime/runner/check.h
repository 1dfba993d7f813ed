// Compares a candidate's outputs with the reference.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/runner/protocol.h"
#include "runtime/tensor/layout.h"

namespace lathe::runner {

// One output: what was computed (row-major, of type dtype), what it should be, and by how much each
// element may differ.
struct Comparison {
  Dtype dtype;
  const void* got;
  std::span<const double> want, bound;
};

// The largest size of an output's elements. Only finite elements with a finite bound count: of the
// others nothing is known, as of those that are infinite in their type and finite in f64.
double largest_of(std::span<const double> want, std::span<const double> bound);

// Fills max_error, wrong and the worst element of `result`. An element is right if |got - want| <=
// bound, or if both are the same infinity or NaN. Where the bound is infinite, nothing is known and
// the element does not count. The result is wrong if an element is, or if the largest difference
// exceeds `max_error` times largest_of its output.
void compare(std::span<const Comparison> outputs, double max_error, Loaded& result);

}  // namespace lathe::runner
