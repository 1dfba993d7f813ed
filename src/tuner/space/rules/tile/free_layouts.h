// Layouts of inputs and outputs that the schedule may choose.
#pragma once

#include <vector>

#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

// Free inputs and outputs get the vector axis, in blocks of a vector, at the end; inputs get the
// reduction axis like that, too.
std::vector<schedule::Layout> free_layouts_of(const TileRule& rule, const Axes& axes);

}  // namespace lathe::space
