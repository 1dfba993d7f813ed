// Inputs whose slices differ much in size, on which programs are checked: an algorithm that mixes
// rows, channels or images spoils the small ones, and a comparison with the largest output alone
// would not show it.
#pragma once

#include <vector>

#include "base/rng.h"
#include "compiler/te/workload.h"

namespace lathe::measure {

// What may be done to a tensor so that outputs still show the errors of all of its elements.
struct Freedom {
  // Every output is made of it by sums, products and what goes with the size of its operand, as abs
  // and max. Else it is an operand of a function, of a comparison, or of a long chain of products.
  bool scales = true;
  // By dimension: it becomes a dimension of every output, or of a neighbourhood in one, so that
  // slices along it meet in no sum.
  std::vector<bool> apart;
};
// For each tensor of the workload.
std::vector<Freedom> freedoms_of(const te::Workload& workload);

// Gives slices of the tensor another size and mean, and makes some of its elements 0. `values` are
// row-major and exact in the tensor's type, and so they stay.
void make_uneven(const te::Tensor& tensor, const Freedom& freedom, std::vector<double>& values,
                 Rng& rng);

}  // namespace lathe::measure
