// Order statistics of measured times.
#pragma once

#include <vector>

namespace lathe {

// Linear between the neighbours; q in [0, 1], 0.5 is the median. Infinity of nothing.
double quantile(std::vector<double> values, double q);

}  // namespace lathe
