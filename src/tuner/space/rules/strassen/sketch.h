// The sketch of Strassen's algorithm: where its sums and its products are computed, and how their
// loops run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/space/rules/strassen/strassen.h"

namespace lathe::space {

// For values of which the algorithm is Strassen's.
Result<Sketch> build_strassen_sketch(const StrassenRule& rule, const std::vector<Knob>& knobs,
                                     std::span<const std::int64_t> values);

}  // namespace lathe::space
