// Finds the feature columns that a trainer must see. Padded rows have many columns that are
// constant or repeated within one space, and training takes time for each column.
#pragma once

#include <span>
#include <vector>

namespace lathe::model {

// The columns that vary and equal no earlier column, in ascending order; the first column if there
// are none.
std::vector<int> informative_columns(std::span<const float> features, int rows, int width);
// Takes these columns only; row-major.
std::vector<float> select_columns(std::span<const float> features, int rows, int width,
                                  std::span<const int> columns);

}  // namespace lathe::model
