// Order statistics: of measured times, and of two groups of them.
#pragma once

#include <vector>

namespace lathe {

// Linear between the neighbours; q in [0, 1], 0.5 is the median. Infinity of nothing.
double quantile(std::vector<double> values, double q);

// Two-sided p of the Mann-Whitney U test, by the normal approximation with the correction for ties
// (8 values a group or more). Infinity is a value like others. 1 where a group is empty.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lathe
