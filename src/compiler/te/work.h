// How much of a program's arithmetic has to be done.
#pragma once

#include "compiler/te/program.h"

namespace lathe::te {

// Of flops(program) those that have to be done: without the reduction steps that padding makes 0
// (of a sum of products) or the identity (of a maximum). Lowering leaves these out.
double done_flops(const Program& program);

}  // namespace lathe::te
