// Random index expressions with awkward shapes, for property tests of everything that takes a
// program.
//
//   Rng rng(seed);
//   te::Workload p = random_workload(rng);                     // any form, f32
//   te::Workload p = random_workload(rng, {.dtypes = true});   // any form and element type
// A failing test prints its seed and te::print_workload(p), which parse_workload() reads.
//
// Forms: matmul in all transposes and batched; convolutions in one and two dimensions (stride,
// dilation, padding, groups, depthwise); each of these with an optional epilogue. Also pooling, row
// reductions, scans along any axis in both directions, softmax, element-wise chains with broadcasts
// and functions, reversed and strided reads, padded copies, literals, constant intermediates,
// iterator values under select, several outputs; levels of numerics and ranges of inputs; with
// dtypes also masks and quantized products; and what staged_workload.h makes. Sizes are mostly
// ones, primes, and one more or less than a power of two.
#pragma once

#include "base/rng.h"
#include "compiler/te/workload.h"

namespace lathe {

struct RandomWorkloadOptions {
  bool dtypes = false;                   // other types than f32, too
  std::int64_t max_iterations = 30'000;  // of all stages together
  double recurrences = 0;                // share of those that recurrent_workload.h makes
};

te::Workload random_workload(Rng& rng, const RandomWorkloadOptions& options = {});

// Of all stages together.
double iterations(const te::Workload& workload);

}  // namespace lathe
