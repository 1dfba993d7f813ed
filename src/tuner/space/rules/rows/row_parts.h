// Reductions over the same elements, part by part: each part of a row goes through all of them
// while it is in the cache, and then the next part. Those that depend on the row's extreme become
// relative to that of the part (schedule::Rescale). So a row that is longer than the cache is read
// from memory once, and threads can share it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rows/row_group.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

struct RowParts {
  std::vector<std::int64_t> sizes;  // elements of a part; none: there is nothing to do so
  std::int64_t start = 0;           // what a default schedule has; 0: whole rows
};
// `only_long`: only where a row leaves the cache.
RowParts find_row_parts(const CpuContext& context, bool only_long);

// Makes the size of parts a knob, whose tiles are fixed; all knobs so far are those of whole rows.
Result<std::unique_ptr<Alternatives>> offer_row_parts(const CpuContext& context);
std::span<const Meaning> row_part_meanings();

}  // namespace lathe::space
