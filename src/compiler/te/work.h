// Tells how much of a workload's arithmetic must be done.
#pragma once

#include "compiler/te/program.h"

namespace lathe::te {

// The operations among flops(program) that must be done. Reduction steps that padding makes 0 (of a
// sum of products) or the identity (of a maximum) are not among them: lowering leaves them out.
double done_flops(const Program& program);

}  // namespace lathe::te
