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
// still have its first loops, and sum X[..., y + r, ...] * W[..., r, ...], where r is the tap and
// y an index of the result. New blocks, each with loops of its own named BLOCK.iterator, come
// before it:
//
//   BLOCK.filter, BLOCK.filter.1 ...  W with positions in place of taps, an axis a block
//   BLOCK.input, BLOCK.input.1 ...    X with tiles and positions in place of y + r
//   BLOCK.product                     the sums of products that are left
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
