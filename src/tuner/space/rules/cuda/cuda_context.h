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

}  // namespace lathe::space
