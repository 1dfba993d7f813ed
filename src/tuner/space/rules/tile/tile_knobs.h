// Knobs of tiles as knobs of the space: those of the main stage, and of the other contractions with
// much of the work, by the names of their tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

// Keeps a few orders of the loops around the tile: what is worked on at a time is small.
void keep_few_orders(TileRule& rule);

// Gives the knobs of tiles their names in the space: "tile.v" of the main stage, "T.tile.v" of the
// stage that computes T; with "rows." before it where rows go together; all after `prefix`.
void name_knobs(Tiling& tiling, const std::string& prefix);

// Adds the knobs of the tiles to those of the space. At most one of the tilings is in a program, so
// they share them: a size has the values of all. With `grouped`, only stages of groups have knobs.
void list_knobs_of(std::span<const Tiling* const> tilings, Flavour flavour, bool grouped,
                   std::vector<Knob>& knobs);

// Finds the knobs of the tiles among those of the space.
void find_knobs(Tiling& tiling, const std::vector<Knob>& knobs);
// Sets what these start with.
void set_start(const Tiling& tiling, const std::vector<Knob>& knobs,
               std::vector<std::int64_t>& start);
// What the register tiles need must fit the registers.
void constrain(const Tiling& tiling, Derived& derived);

}  // namespace lathe::space
