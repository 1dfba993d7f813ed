// Rows that go through several stages, one block of rows after the other, so that what one stage
// makes of them is still in the cache when the next one reads it: of softmax, of norms, of the
// heads and tokens of attention.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// An axis that stages have in common: each does the same rows of what it reads of the others.
struct RowAxis {
  std::vector<int> iters;  // by stage of the view: its iterator; -1: not in the group
  std::int64_t extent = 1;
  // A stage uses something for many of the rows: it wants blocks of them, as many as a tile has.
  bool reused = false;
  // For so many results besides, in a row, because of axes inside: a block may have fewer rows.
  std::int64_t beside = 1;
  // Rows lie side by side in the largest tensor, as columns do: blocks of them are vectors wide.
  bool contiguous = false;
};

// Stages that follow each other. Axes that are reused come last.
struct RowGroup {
  std::vector<RowAxis> axes;  // outermost first; the last one goes in blocks, the others one by one
  std::string last;           // the tensor that the last of the stages computes
  std::set<std::string> names;  // the tensors of all, those that run once left out
};
inline constexpr std::int64_t kBlocksPerThread = 4;  // that threads share evenly enough

// Groups of stages that run every time, two or more, and have an axis in common; no stage is in
// two. First come such as go through rows that are used once in some of their axes and again in
// others, as the heads and tokens of attention, then those that leave most for each other.
std::vector<RowGroup> find_row_groups(const te::Workload& view, std::size_t own);

// Bytes of what stages leave in the cache for each other, or read one after the other. Only the
// first `own` tensors count: partial results of a sum stay in registers anyway.
double kept_bytes(const te::Workload& view, const RowGroup& group, std::size_t own);

// How many rows may go together, by powers of four.
std::vector<std::int64_t> blocks_of_rows(const RowGroup& group);

// What a default schedule does: so many rows together, with several threads also other numbers than
// those above, where threads share these more evenly; 0: every stage does all rows at once. Of
// softmax and norms, what is kept of a block of rows stays in the first cache: 1024 rows of 1024
// take 467 us in blocks of 4, 530 in blocks of 16, 502 apart. What blocks of rows of a product
// leave for each other is copied once for them all, so that few rows are as fast as many: 12 heads
// of 1024 tokens take 35.7 ms in blocks of 64 and of 256, of 128 tokens 557 us in blocks of 64 and
// 590 of 128.
std::int64_t rows_at_start(const RowGroup& group, double kept, const CpuTarget& target);

// How many rows of a group go together.
struct RowBlocks {
  const RowGroup* group;
  std::int64_t together;
};

// The workload with the rows of groups split in such blocks, whose loops are the outermost. The
// view is that of the stages inside them.
struct Grouped {
  Prepared prepared;
  te::Workload sizes;  // the view of stages with all their iterations
  // For each group: loops to be joined, for each axis, outermost first.
  std::vector<std::vector<std::vector<std::string>>> loops;
  // By tensor that a stage computes: what it reads that is the same for all blocks of rows.
  std::map<int, std::set<int>> same;
  std::set<int> tensors;  // that stages of the groups compute
};
// Splits the rows of a group of the view's stages, and adds the loops over blocks to `outer`.
Status split_rows(Grouped& grouped, const RowBlocks& rows, const RowGroup& group,
                  std::set<std::string>& outer);
Result<Grouped> prepare_grouped(const te::Workload& workload, const CpuTarget& target,
                                algebra::Repeated repeated, const std::vector<RowBlocks>& rows);

}  // namespace lathe::space
