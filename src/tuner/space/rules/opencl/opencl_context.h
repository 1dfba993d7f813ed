// What the rules for devices that run OpenCL are told.
#pragma once

#include "base/target.h"
#include "tuner/space/space.h"

namespace lathe::space {

struct OpenClContext {
  te::Workload workload;
  OpenClTarget target;
  Flavour flavour = Flavour::kDefault;
};

}  // namespace lathe::space
