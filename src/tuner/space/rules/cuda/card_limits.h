// What limits of spaces for cards have in common: choices as sizes, and whether values keep to all
// limits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/space/rules/rule.h"

namespace lathe::space {

// The number that the label of a choice's value says.
std::int64_t number_chosen(const std::vector<Knob>& knobs, int knob,
                           std::span<const std::int64_t> values);
// The same as a size.
ir::SizeId size_chosen(const std::vector<Knob>& knobs, int knob, ir::Sizes& sizes);
// `sizes`: memory for the sizes' values.
bool keeps_limits(const Derived& derived, std::span<const std::int64_t> values,
                  std::vector<std::int64_t>& sizes);

}  // namespace lathe::space
