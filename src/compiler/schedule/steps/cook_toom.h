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
// still have its first loops, and sum X[..., S*y + D*r, ...] * W[..., r, ...], where r is the tap,
// y an index of the result, S a stride and D a dilation. Neighbouring results are those of a strand
// (cook_toom::Strands). Of its residues (cook_toom::Residues) all are transformed as the first is,
// and their products are summed up. New blocks, each with loops of its own named
// BLOCK.iterator, come before it:
//
//   BLOCK.filter, BLOCK.filter.1 ...  W with positions in place of taps, an axis a block; those of
//                                     the residues one after the other
//   BLOCK.input, BLOCK.input.1 ...    X with tiles, strands, residues and positions in place of
//                                     S*y + D*r
//   BLOCK.product                     the sums of products that are left, over residues too (TAP.a)
//   BLOCK.output.1 ...                these with results in place of positions, last axis first
//
// The block itself turns the positions of the first axis into results. Its loop over y becomes two,
// NAME.t over tiles and NAME.i inside one; NAME.s is over strands, where there are several.
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

// What the transforms back call the iterator over positions, beside the result's own: "p", or that
// with ".p" behind it where an iterator is called so.
std::string position_iter(const std::vector<std::string>& result);

StepResult<void> apply_step(ir::Nest& nest, const CookToom& step);

}  // namespace lathe::schedule
