// Parts of a long sum, which threads share where its result alone has too little for them.
#pragma once

#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

// Makes this rule that of the main stage. Where the reduction is long and the result is small, it
// is a value of the knob `parallel` that threads share parts of the reduction.
void set_main(Tiling& tiling, TileRule rule);

}  // namespace lathe::space
