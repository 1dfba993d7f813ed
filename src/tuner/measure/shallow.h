// Programs whose expressions are small, so that what is derived from them is small enough too.
#pragma once

#include "compiler/te/program.h"

namespace lathe::measure {

// The same program with deep expressions cut: parts become stages of their own, over all iterators
// of the stage they are cut from. A reduction over more than some 30 million iterations stays as it
// is. Tensors keep their numbers, new ones come after them.
te::Program shallow(const te::Program& program);

}  // namespace lathe::measure
