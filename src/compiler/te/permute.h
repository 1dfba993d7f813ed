// Puts the dimensions of a tensor of an expression into another order.
#pragma once

#include <vector>

#include "compiler/te/workload.h"

namespace lathe::te {

// The order of a tensor's dimensions inside where those that callers see come in this order:
// dimensions that callers see as one stay together.
std::vector<int> order_inside(const Tensor& tensor, const std::vector<int>& seen);

// Dimension d of the tensor becomes what was dimension order[d]: [0,2,3,1] makes NHWC of NCHW. All
// that reads it follows, and so do the iterators of the stage that writes it. The numbers stay the
// same. What callers see as one dimension must stay together.
void permute_dims(Workload& workload, int tensor, const std::vector<int>& order);

}  // namespace lathe::te
