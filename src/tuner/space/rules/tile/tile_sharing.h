// Which loops threads share where a search of the register-tile rule starts, in which blocks, and
// who copies what: as the thread that does most is done soonest.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

// Of the values of a start, those that tell what threads share; the tile is chosen already, and
// takes so many times as long as the peak.
SharedCost choose_shared_loops(const TileRule& rule, double slowness,
                               std::vector<std::int64_t>& start);

}  // namespace lathe::space
