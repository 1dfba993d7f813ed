// A contraction as a product of matrices: its operands are laid out anew with the axes of each
// class side by side, and each class becomes one axis. Where axes are short and lie apart, a vector
// along one of them is partly empty, and a sum over several is cut into short ones.
#pragma once

#include <optional>

#include "tuner/space/rules/prepare.h"
#include "tuner/space/rules/register_tile.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// The workload prepared so; nullopt if its main stage is no contraction with such axes.
std::optional<Prepared> prepare_as_matrices(const te::Workload& workload, const CpuTarget& target);

// Makes it a knob whether operands are read as they lie, by this rule, or as matrices, with knobs
// of its own for the product of these; nothing if there is no choice.
void add_matrices(const te::Workload& workload, const CpuTarget& target, Flavour flavour,
                  const TiledStage& as_it_lies, Derived& derived);

}  // namespace lathe::space
