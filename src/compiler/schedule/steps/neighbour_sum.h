// The sum over neighbours that a step cook_toom rewrites.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/analysis/neighbours.h"
#include "compiler/cook_toom/matrices.h"
#include "compiler/schedule/steps/cook_toom.h"

namespace lathe::schedule {

// An axis along which several results are computed together.
struct NeighbourAxis : analysis::Neighbours {
  int tap = -1;  // an iterator of the block, as Neighbours::result
  std::int64_t results = 0, tiles = 0, tile = 0, positions = 0;
  cook_toom::Residues residues;
  cook_toom::Matrices matrices;  // of the first residue

  // Elements of the input that tiles read.
  std::int64_t reach() const {
    return stride * ((tiles - 1) * tile + positions - 1) + residues.count;
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
