// Which feature columns a trainer needs to see: padded rows leave many constant or repeated within
// one space, and the time of training goes with the number of columns.
#pragma once

#include <span>
#include <vector>

namespace lathe::model {

// Columns that vary and equal no earlier one, ascending; the first column if none does.
std::vector<int> informative_columns(std::span<const float> features, int rows, int width);
// Row-major, these columns only.
std::vector<float> select_columns(std::span<const float> features, int rows, int width,
                                  std::span<const int> columns);

}  // namespace lathe::model
