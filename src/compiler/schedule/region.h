// What one iteration of a loop computes of a buffer, exactly: what a write-back copies and what a
// consumer moved behind its producer may use.
#pragma once

#include "compiler/analysis/box.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {

// A bound on a dimension that the box alone does not give: outer digits + (coordinate - start) <
// extent. `dim` -1: the bound depends on outer loops only.
struct RegionGuard {
  int dim = -1;
  ir::SizeId extent;
  std::vector<ir::Digit> outer;
  ir::SizeId offset = ir::SizeId::kNone;
};

struct Region {
  analysis::Box box;
  std::vector<RegionGuard> guards;
};

// Refuses (kBadLayout) if the block's iterations inside `loop` leave holes in the box or cut it in
// a way that guards cannot say.
StepResult<Region> region_computed(ir::Nest& nest, ir::BlockId writer, ir::LoopId loop);

// Iterations of the loops around `loop` in which the block has nothing to sum, as bounds on them.
// Empty if every iteration has something.
std::vector<RegionGuard> idle_limits(ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

// An iterator's digits outside and inside the loop.
std::pair<std::vector<ir::Digit>, std::vector<ir::Digit>> parted(const ir::Nest& nest,
                                                                 const ir::BlockIter& iter,
                                                                 ir::LoopId loop);
bool same_digits(const std::vector<ir::Digit>& a, const std::vector<ir::Digit>& b);

// An iterator of a block that runs over dimension `span` inside the loop: the start, less `low`,
// plus `inner` digits.
ir::BlockIter region_iter(ir::Nest& nest, std::string name, const analysis::Span& span,
                          std::int64_t low, ir::SizeId domain, std::vector<ir::Digit> inner);
// The region's guards for a block whose digits inside the loop are inner[dim], of weight 1 per
// coordinate.
void add_guards(ir::Block& block, const Region& region,
                const std::vector<std::vector<ir::Digit>>& inner);

}  // namespace lathe::schedule
