// Sums over neighbours: an input read at multiples of result and tap, beside a filter read at the
// tap.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/expr/expr.h"

namespace lathe::analysis {

// One axis of such a sum. The input is read at stride*result + dilation*tap + shifts + offset.
struct Neighbours {
  int result = -1;                      // the iterator beside the tap
  int input_dim = -1, filter_dim = -1;  // dimensions that the tap indexes
  // A dilation below 0 stands for a filter that is read backwards.
  std::int64_t stride = 1, dilation = 1, offset = 0;
  std::vector<ir::AffineTerm> shifts;  // of other iterators, as the phase of a transposed sum
};

// Nothing if these reads are not like that along the iterator `tap`: one dimension of the filter is
// the tap, one of the input has it beside an iterator that the filter does not have, and no
// iterator of that dimension is in another one of the input.
std::optional<Neighbours> neighbours_of(const ir::Read& input, const ir::Read& filter, int tap);

}  // namespace lathe::analysis
