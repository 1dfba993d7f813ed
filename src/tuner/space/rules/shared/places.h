// Reductions to the place of an extreme, as argmax has them.
#pragma once

#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// Where a long row is gone through for its extreme and again for the extreme's place, makes
// extremes of parts, so that the place is looked for in one part only.
void locate_in_parts(Prepared& prepared, const te::Workload& workload, const CpuTarget& target);

}  // namespace lathe::space
