// Sums over neighbours: an input read at result + tap, beside a filter read at the tap.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/expr/expr.h"

namespace lathe::analysis {

// One axis of such a sum.
struct Neighbours {
  int result = -1;                      // the iterator beside the tap
  int input_dim = -1, filter_dim = -1;  // dimensions that the tap indexes
  std::int64_t stride = 1, low = 0;     // the input is read at stride*result + tap + low
};

// Nothing if these reads are not like that along the iterator `tap`: one dimension of the input is
// stride*result + tap, one of the filter is the tap, and neither iterator takes part elsewhere.
std::optional<Neighbours> neighbours_of(const ir::Read& input, const ir::Read& filter, int tap);

}  // namespace lathe::analysis
