// Maps that are computed in the pass of a sum over what they make.
#pragma once

#include <set>
#include <string>

#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// Computes maps that the reduction reads, and that others read later, in its loop `loop`, one
// iteration's elements at a time: exponentials and their sum are one pass over a row. Not a
// contraction, which reads what it reads many times. Adds the names of these maps to `placed`.
void fuse_maps(const te::Workload& view, const te::Stage& reduction, const std::string& loop,
               const CpuTarget& target, ir::Nest& nest, schedule::Trace& trace,
               std::set<std::string>& placed);

}  // namespace lathe::space
