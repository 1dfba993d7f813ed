// Random programs whose items share memory: products and copies of matrices by tiles that are
// staged there, in one to four stages, and reductions of rows and columns, the latter in two
// kernels. Sizes are odd, items few. Each has places for faults (planted_faults.h), and a fault can
// be planted in one of them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/flat/flat.h"
#include "oracle/flat_eval.h"
#include "unit/interp/planted_faults.h"

namespace lathe::testing {

struct RandomGroupsOptions {
  bool copies = true;     // asynchronous ones
  bool exchanges = true;  // of registers in a warp
};

// A fault here does harm, and the report names one of the buffers.
struct FaultPlace {
  Planted fault;
  std::set<std::string> buffers;
};

struct GroupProgram {
  flat::Program program;
  std::vector<interp::Bytes> inputs;
  std::vector<std::vector<double>> want;  // of each output, row by row
  std::vector<FaultPlace> places;
};

// The same seed gives the same program, with or without a fault: `planted` is the place.
GroupProgram random_groups(std::uint64_t seed, const RandomGroupsOptions& options = {},
                           std::optional<std::size_t> planted = {});

}  // namespace lathe::testing
