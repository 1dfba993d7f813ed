// Order statistics of measured times.
#pragma once

#include <cstddef>
#include <vector>

namespace lathe {

// Interpolates linearly between neighbours; q is in [0, 1], and 0.5 gives the median. The quantile
// of no values is infinity.
double quantile(std::vector<double> values, double q);

// The standard error of the median of n values that are distributed normally, by half their
// interquartile range. Of few values that range tells less than of many, so it counts for more.
double error_of_median(double half_range, std::size_t n);

// The two-sided p of the Mann-Whitney U test, by the normal approximation with the correction for
// ties (good for 8 values a group or more). Infinity is a value like others. Returns 1 where a
// group is empty.
double mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lathe
