// Random workloads put together (te::compose): a random one, and behind it up to four others that
// read what the one before wrote.
//
//   Rng rng(seed);
//   te::Workload p = composed_workload(rng, {.dtypes = true});
//
// Those behind are scans in both directions, reads at computed places (resized, clamped, mirrored,
// looked up with and without `else`, with indices of every integer type, or what was written as
// the index), functions, bits and shifts, casts to other types, sums of products of several
// factors, windows whose extents follow from their reads, reductions and padded reads.
#pragma once

#include "support/random_workload.h"

namespace lathe {

te::Workload composed_workload(Rng& rng, const RandomWorkloadOptions& options = {});

}  // namespace lathe
