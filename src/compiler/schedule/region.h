// What exactly one iteration of a loop computes of a buffer: a write-back copies this, and a
// consumer that is moved behind its producer may use it.
#pragma once

#include "compiler/analysis/box.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {

// A bound on a dimension that the box alone does not tell: outer digits + weight * (coordinate -
// start) < extent. `dim` -1: the bound concerns outer loops only.
struct RegionGuard {
  int dim = -1;
  ir::SizeId extent;
  std::vector<ir::LoopDigit> outer;
  ir::SizeId offset = ir::SizeId::kNone;
  ir::SizeId weight = ir::SizeId::kNone;  // kNone: 1
  // The dimension is summed over: the bound keeps terms out, and tells no elements apart.
  bool sums = false;
};

struct Region {
  analysis::Box box;
  std::vector<RegionGuard> guards;
};

// Refuses (kBadLayout) if the block's iterations inside `loop` leave holes in the box, or cut it in
// a way that guards cannot express.
StepResult<Region> region_computed(ir::Nest& nest, ir::BlockId writer, ir::LoopId loop);

// The iterations of the loops around `loop` in which the block has nothing to sum, as bounds on
// those loops. Empty if every iteration has something.
std::vector<RegionGuard> idle_limits(ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

// An iterator's digits outside the loop, and those inside it.
std::pair<std::vector<ir::LoopDigit>, std::vector<ir::LoopDigit>> parted(const ir::Nest& nest,
                                                                         const ir::BlockIter& iter,
                                                                         ir::LoopId loop);
bool same_digits(const std::vector<ir::LoopDigit>& a, const std::vector<ir::LoopDigit>& b);

// An iterator of a block that runs over the dimension of `span` inside the loop: the start, minus
// `low`, plus `inner` digits.
ir::BlockIter region_iter(ir::Nest& nest, std::string name, const analysis::Span& span,
                          std::int64_t low, ir::SizeId domain, std::vector<ir::LoopDigit> inner);
// Adds the region's guards to a block whose digits inside the loop are inner[dim], with a weight of
// 1 for each coordinate.
void add_guards(ir::Nest& nest, ir::Block& block, const Region& region,
                const std::vector<std::vector<ir::LoopDigit>>& inner);

}  // namespace lathe::schedule
