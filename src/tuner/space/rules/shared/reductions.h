// Lanes for reductions along rows, and blocks of long sums.
#pragma once

#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// Appends its steps.
void split_reductions(Prepared& prepared, const te::Workload& workload, const CpuTarget& target,
                      const RowShares& shares);

}  // namespace lathe::space
