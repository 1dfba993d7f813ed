// The sum over neighbours that a step cook_toom rewrites.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "compiler/analysis/neighbours.h"
#include "compiler/cook_toom/matrices.h"
#include "compiler/schedule/steps/cook_toom.h"

namespace lathe::schedule {

// An axis along which several results are computed together.
struct NeighbourAxis : analysis::Neighbours {
  int tap = -1;  // an iterator of the block, as Neighbours::result
  std::int64_t results = 0, taps = 0, tile = 0, positions = 0;
  std::int64_t tiles = 0;  // of a strand
  // What else moves the elements that are read: the strand, then other iterators of the block.
  struct Shift {
    int iter = -1;  // -1: the strand
    std::int64_t extent = 1, step = 1;
  };
  std::vector<Shift> moved_by;
  std::int64_t low = 0;  // the first element of the input that is read
  cook_toom::Strands strands;
  cook_toom::Residues residues;  // of a strand's taps
  cook_toom::Matrices matrices;  // of the first residue

  bool backwards() const { return dilation < 0; }
  // Elements of the input from one tap to the next, and from one position of a tile to the next.
  std::int64_t tap_step() const { return std::abs(dilation); }
  std::int64_t position_step() const { return tap_step() * strands.inner_stride; }
  // Where the first tile reads first, if nothing moves it.
  std::int64_t start() const { return offset + (backwards() ? dilation * (taps - 1) : 0); }
  // Elements of the input that tiles read.
  std::int64_t reach() const {
    std::int64_t elements = position_step() * ((tiles - 1) * tile + positions - 1) +
                            tap_step() * (residues.count - 1) + 1;
    for (const Shift& shift : moved_by) elements += std::abs(shift.step) * (shift.extent - 1);
    return elements;
  }
  std::int64_t filter_positions() const { return residues.filter_positions(positions); }
};

struct NeighbourSum {
  ir::BlockId block = -1;
  const ir::Read *input = nullptr, *filter = nullptr;  // of the block's body
  std::vector<NeighbourAxis> axes;                     // in the order of the step
};

// Refuses a block that is no such sum, and tiles that it cannot have.
StepResult<NeighbourSum> neighbour_sum(const ir::Nest& nest, const CookToom& step);

}  // namespace lathe::schedule
