// What the rules for cards are told.
#pragma once

#include "base/target.h"
#include "tuner/space/space.h"

namespace lathe::space {

struct CudaContext {
  te::Workload workload;
  CudaTarget target;
  Flavour flavour = Flavour::kDefault;
};

// The card as rules see it that are for any device whose kernels run on grids.
OpenClTarget as_device(const CudaTarget& card);

}  // namespace lathe::space
