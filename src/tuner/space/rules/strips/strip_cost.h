// What a pipeline costs in strips, and as its stages would, one after the other.
#pragma once

#include "tuner/space/rules/strips/strip_sketch.h"

namespace lathe::space {

// In cycles of a core. The view is that of a program whose stages go through all of an image each.
double cycles_apart(const te::Workload& view, int lanes, int threads);
// Of a sketch whose sizes are numbers.
double cycles_in_strips(const Stencils& pipeline, const StripChoice& choice, const Sketch& sketch);

}  // namespace lathe::space
