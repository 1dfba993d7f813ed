// A contraction as a product of matrices: its operands are laid out anew with the axes of each
// class side by side, and each class becomes one axis. Where axes are short and lie apart, a vector
// along one of them is partly empty, and a sum over several is cut into short ones.
#pragma once

#include <optional>

#include "base/target.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// The workload prepared so; nullopt if its main stage is no contraction with such axes.
std::optional<Prepared> prepare_as_matrices(const te::Workload& workload, const CpuTarget& target,
                                            algebra::Repeated repeated = algebra::Repeated::kKept);

}  // namespace lathe::space
