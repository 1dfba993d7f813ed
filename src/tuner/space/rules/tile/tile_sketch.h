// The sketch of the register-tile rule.
#pragma once

#include <cstdint>
#include <span>

#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

Result<Sketch> build_tile_sketch(const Tiling& tiling, std::span<const std::int64_t> values);
// All stages in plain loops.
Result<Sketch> build_plain_sketch(const Tiling& tiling);

}  // namespace lathe::space
