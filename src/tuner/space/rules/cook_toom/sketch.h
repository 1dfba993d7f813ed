// The sketch of a Cook-Toom algorithm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/space/rules/cook_toom/cook_toom.h"

namespace lathe::space {

// For values of which the algorithm is not direct.
Result<Sketch> build_cook_toom_sketch(const CookToomRule& rule, const std::vector<Knob>& knobs,
                                      std::span<const std::int64_t> values);

}  // namespace lathe::space
