// The loops of a scan on a processor. Along its axis the elements wait for each other, so lanes and
// threads run along the other axes:
//
//   scan along the last axis            along another one
//     other axes, blocks of rows          other axes, blocks of columns
//       the axis                            the axis
//         the rows of a block, unrolled       the vectors of a block: unrolled, or in a loop
//
// Along the last axis a scan in any order may also go by vectors: lanes run along the axis, and
// only one operation a vector waits for the vector before.
//
// So the operations of several rows, or columns, are under way at a time. What is unrolled is
// carried from element to element in registers; a loop over many vectors goes through memory in
// order.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/target.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe::space {

// A scan's loops, by name.
struct ScanLoops {
  std::string block;                // the block's name
  std::string axis;                 // the loop along the scan
  std::string last;                 // the loop along the last dimension; it may be the axis
  std::vector<std::string> others;  // from outside in
  bool along_last() const { return axis == last; }
};
// Of the stage that computes the tensor, as the nest has it before any of its loops is split.
ScanLoops scan_loops_of(const ir::Nest& nest, const std::string& tensor);

// Of a loop by name whose extent is known.
std::int64_t extent_of_loop(const ir::Nest& nest, const std::string& loop);

// True if no stage has as much to do as one of those that go along an axis element by element:
// scans, and recurrences whose stages have all loops in common.
bool scan_leads(const ir::Nest& nest, const te::Workload& view);
// Of these the one with the most work.
const te::Stage& leading_scan(const ir::Nest& nest, const te::Workload& view);
// The blocks that have the loops of the scan: itself, and the others of its recurrence.
std::set<std::string> companions_along(const ir::Nest& nest, const std::string& tensor);

// How many rows go along the axis together; 0: the scan has no rows.
std::int64_t rows_of(const ir::Nest& nest, const ScanLoops& loops);
// How many vectors a row has across the axis.
std::int64_t vectors_of(const ir::Nest& nest, const ScanLoops& loops, std::int64_t lanes);
// The most of them that are unrolled.
inline constexpr std::int64_t kMostUnrolled = 16;

// True if vectors may go along the last axis, which has some of them.
bool may_go_by_vectors(const ir::Nest& nest, const ScanLoops& loops, const CpuTarget& target);
// In how many parts the axis is cut for threads, where the other loops have too few iterations; 1:
// it stays whole.
std::int64_t usual_parts(const ir::Nest& nest, const ScanLoops& loops, const CpuTarget& target);

// Rows, or vectors of columns, that go along the axis together.
template <class Size>
struct ScanBlock {
  Size size;
  bool unrolled = true;
  bool by_vectors = false;  // of rows: lanes run along the axis
};
// What to begin with.
ScanBlock<std::int64_t> usual_block(const ir::Nest& nest, const ScanLoops& loops,
                                    const CpuTarget& target);

// Gives the scan such loops.
void schedule_scan(const ScanLoops& loops, ScanBlock<ir::SizeId> block, const CpuTarget& target,
                   ir::Nest& nest, schedule::Trace& trace, bool free_layout);
// The same with the usual block.
void schedule_scan(const te::Workload& view, const te::Stage& stage, const CpuTarget& target,
                   ir::Nest& nest, schedule::Trace& trace);

}  // namespace lathe::space
