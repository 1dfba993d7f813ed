// Where a search of the register-tile rule starts: the tile and the copies that promise most.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

// Values of the knobs for the analytic default: the structural ones by position; and with several
// threads, what it costs.
struct TileStart {
  std::vector<std::int64_t> values;
  SharedCost cost;
};
TileStart tile_start(const TileRule& rule);
// The same, among the values of the knobs.
TileStart settled_start(const TileRule& rule);

}  // namespace lathe::space
