// Order statistics of measured times.
#pragma once

#include <vector>

namespace lathe {

// Interpolates linearly between neighbours; q is in [0, 1], and 0.5 gives the median. The quantile
// of no values is infinity.
double quantile(std::vector<double> values, double q);

// The two-sided p of the Mann-Whitney U test, by the normal approximation with the correction for
// ties (good for 8 values a group or more). Infinity is a value like others. Returns 1 where a
// group is empty.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lathe
