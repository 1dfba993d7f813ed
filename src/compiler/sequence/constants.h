// Which constants of a program outlive its prepare: steps on the way to packed weights do not, as
// of an algorithm that transforms them along one axis and then along the other.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::sequence {

// Bytes of the area of constants that buffers share, and where they go.
struct ConstantRange {
  std::int64_t begin = 0, end = 0;
  bool kept = false;        // run reads of it
  std::int64_t offset = 0;  // among those that are kept, or those that are not
};

struct ConstantRanges {
  std::vector<ConstantRange> ranges;  // in order
  std::int64_t kept = 0, passing = 0;

  const ConstantRange& at(std::int64_t slot) const;
};
// `read`: whether run's kernels read constants; where they are run in prepare, nothing is kept.
ConstantRanges constants_of(const flat::Program& program, bool read = true);

}  // namespace lathe::sequence
