// Tells how much of a workload's arithmetic must be done.
#pragma once

#include "compiler/te/workload.h"

namespace lathe::te {

// The operations among flops(workload) that must be done. Reduction steps that padding makes 0 (of
// a sum of products) or the identity (of a maximum) are not among them: lowering leaves them out.
double done_flops(const Workload& workload);

// The terms that a reduction adds up, or compares, for an element of its result; 1 for a map.
double terms_of(const Stage& stage);

// True if the index moves with this iterator of a stage.
bool touches(const std::vector<ir::Affine>& index, int iter);
// True if two reads each leave out an axis of the result that the other has: elements are then used
// again, and a register tile is for that.
bool has_reuse(const Stage& stage);

}  // namespace lathe::te
