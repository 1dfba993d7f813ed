// Knobs of tiles as knobs of the space: those of the main stage, and of the other contractions with
// much of the work, by the names of their tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/space/rules/register_tile.h"

namespace lathe::space {

int number_of(const std::vector<Knob>& knobs, const std::string& name);  // -1: there is none

// Keeps a few orders of the loops around the tile: what is worked on at a time is small.
void keep_few_orders(TileRule& rule);

// Gives the knobs of tiles their names in the space: "tile.v" of the main stage, "T.tile.v" of the
// stage that computes T; with "rows." before it where rows go together; all after `prefix`.
void name_knobs(Tiling& tiling, const std::string& prefix);

// Adds the knobs of the tiles to those of the space. At most one of the tilings is in a program, so
// they share them: a size has the values of all. With `grouped`, only stages of groups have knobs.
void add_knobs(std::span<const Tiling* const> tilings, Flavour flavour, const Under& under,
               bool grouped, std::vector<Knob>& knobs);

// Finds the knobs of the tiles among those of the space.
void find_knobs(Tiling& tiling, const std::vector<Knob>& knobs);
// Sets what these start with.
void set_start(const Tiling& tiling, const std::vector<Knob>& knobs,
               std::vector<std::int64_t>& start);
// What the register tiles need must fit the registers.
void constrain(const Tiling& tiling, Derived& derived);

// Lists, finds and constrains the knobs of one tiling.
void add_tile_knobs(Tiling& tiling, Flavour flavour, const Under& under, Derived& derived);

// Of the first `count` knobs those that always had an effect have it under this one.
void put_under(const Under& under, std::size_t count, std::vector<Knob>& knobs);
// Gives knobs that starts do not know yet their first values in all of them.
void fill_starts(Derived& derived);

}  // namespace lathe::space
