// Where a search of a Cook-Toom algorithm starts with several threads: what they share, blocks,
// copies and the register tile together, so that the thread that does most is done soonest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tuner/space/rules/cook_toom/cook_toom.h"

namespace lathe::space {

// A start for several threads: values of the knobs, and the cycles of the thread that does most.
struct SharedStart {
  double cycles = 1e300;
  std::vector<std::int64_t> values;
};
// The best with this algorithm, which is not direct; other knobs have the values of `start`.
SharedStart shared_start(const CookToomRule& rule, const std::vector<Knob>& knobs,
                         std::size_t algorithm, std::vector<std::int64_t> start);

}  // namespace lathe::space
