// What follows from a footprint for the hardware: the register tile of the written-out body, and
// traffic between levels of memory. The features and the analytic cost model share it.
#pragma once

#include "compiler/analysis/footprint.h"

namespace lathe::analysis {

// The innermost loops of a chain that are vectorized or unrolled are one straight piece of code,
// its body.
struct RegisterTile {
  double lanes = 1;         // elements of a vector
  double operations = 1;    // vector operations of one run of the body
  double accumulators = 1;  // vectors of the result
  double vector_loads = 0;  // vectors and scalars read for one step of the reduction
  double scalar_loads = 0;
  // Registers for values read. One is kept while a loop runs that does not move it: as many as are
  // read inside the outermost such loop.
  double kept = 0;

  double registers() const { return accumulators + kept; }
};

// Number of loops of the body.
int body_loops(const FootprintPlan& plan);
RegisterTile register_tile(const FootprintPlan& plan, const Footprint& f);

// Bytes brought into a cache of this size: the outermost loop whose working set fits is run
// top-down times, and brings its working set in each time. Where not even the innermost fits, every
// iteration brings an element.
double traffic(const FootprintPlan& plan, const Footprint& f, double cache_bytes);

}  // namespace lathe::analysis
