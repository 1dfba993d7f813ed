#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Computes a sum of products over neighbours with fewer products (compiler/cook_toom/matrices.h):
// tiles[a] neighbouring results along the axis of tap iterator taps[a] together. The block must
// still have its first loops, and sum X[..., S*y + r, ...] * W[..., r, ...], where r is the tap, y
// an index of the result and S a stride. Of its residues (cook_toom::Residues) all are transformed
// as the first is, and their products are summed up. New blocks, each with loops of its own named
// BLOCK.iterator, come before it:
//
//   BLOCK.filter, BLOCK.filter.1 ...  W with positions in place of taps, an axis a block; those of
//                                     the residues one after the other
//   BLOCK.input, BLOCK.input.1 ...    X with tiles, residues and positions in place of S*y + r
//   BLOCK.product                     the sums of products that are left, over residues too (TAP.a)
//   BLOCK.output.1 ...                these with results in place of positions, last axis first
//
// The block itself turns the positions of the first axis into results. Its loop over y becomes two,
// NAME.t over tiles and NAME.i inside one.
struct CookToom {
  std::string block;
  std::vector<std::string> taps;
  std::vector<std::int64_t> tiles;

  static constexpr const char* kName = "cook_toom";
  static auto fields() {
    return std::tuple{Field{"block", &CookToom::block}, Field{"taps", &CookToom::taps},
                      Field{"tiles", &CookToom::tiles}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const CookToom& step);

}  // namespace lathe::schedule
