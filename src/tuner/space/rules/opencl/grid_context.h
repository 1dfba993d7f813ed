// What the rules are told that are for any device whose kernels run on grids.
#pragma once

#include "base/target.h"
#include "tuner/space/space.h"

namespace lathe::space {

struct GridContext {
  te::Workload workload;
  Grids grids;
  Flavour flavour = Flavour::kDefault;
};

}  // namespace lathe::space
