// What a footprint means for the hardware: the register tile of the written-out body, and traffic
// between levels of memory. Features and the analytic cost model share it.
#pragma once

#include "compiler/analysis/footprint.h"

namespace lathe::analysis {

// The innermost loops that are vectorized or unrolled make one straight piece of code, the body.
struct RegisterTile {
  double lanes = 1;         // elements of a vector
  double operations = 1;    // vector operations in one run of the body
  double accumulators = 1;  // vectors of the result
  double vector_loads = 0;  // vectors and scalars that one step of the reduction reads
  double scalar_loads = 0;
  // Registers for the values read. A value stays in one while a loop runs that does not move it:
  // there are as many as are read inside the outermost such loop.
  double kept = 0;

  double registers() const { return accumulators + kept; }
};

// How many loops the body has.
int body_loops(const FootprintPlan& plan);
RegisterTile register_tile(const FootprintPlan& plan, const Footprint& f);

// Bytes that are brought into a cache of this size. The outermost loop whose working set fits runs
// top-down times and brings its working set in each time. Where not even the innermost fits, every
// iteration brings an element.
double traffic(const FootprintPlan& plan, const Footprint& f, double cache_bytes);

}  // namespace lathe::analysis
