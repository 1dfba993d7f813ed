// How much a Cook-Toom algorithm does, for the rule that chooses where a search starts; only its
// own sources include this.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/costs.h"
#include "tuner/space/rules/cook_toom/cook_toom.h"

namespace lathe::space {

// An operation of a transform takes so many times as long as a multiply-add of the products:
// transforms load and store for every few of them. It is a guess and no fit.
inline constexpr double kTransformCost = 4;
// Of the second cache: what a block of tiles keeps between its transforms, and a copy of the input.
inline constexpr double kScratchShare = 0.6, kCopyShare = 0.25;

struct Shape {  // of one axis under an algorithm
  double results = 1, positions = 1, taps = 1, tile = 1;
  double tiles = 1, strands = 1;  // tiles of a strand
  double elements = 1;            // of the transformed input
  double filter_positions = 1;    // of all residues
};
std::vector<Shape> shapes_of(const CookToomRule& rule, const Algorithm& algorithm);

// What an algorithm does for one image.
struct Work {
  double products = 1, inputs = 1, outputs = 1;  // elements of the transformed tensors
  double weights = 4;                            // bytes
  double operations = 0;                         // of the transforms, for each element, about
};
Work total_work(const CookToomRule& rule, const std::vector<Shape>& shapes);

// Cycles for what so many blocks of tiles keep between their transforms, where the second cache
// does not hold it: it is written, and read again, at places far from each other.
double scratch_cycles(const Work& work, double blocks);

// A register tile of products: vectors of results by tiles along the inner axis and the outer one.
struct ProductTile {
  std::int64_t v = 1, p0 = 1, p1 = 1;
};
// True if it fits the registers.
bool fits(const ProductTile& tile, const CookToomRule& rule);
// How much longer its products take than at the peak; cost_of_tile in tile_start.cpp has the same
// reasons and constants.
double slowness(const ProductTile& tile);
// What tiles beyond the end of so many things add.
double waste(double extent, std::int64_t tile);

// Which copy of the input the transforms read, in blocks of so many rows.
InputCopy best_copy(const CookToomRule& rule, const Algorithm& algorithm,
                    const std::vector<Shape>& shapes, std::int64_t rows);

}  // namespace lathe::space
