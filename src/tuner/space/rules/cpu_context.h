// What the rules for processors are told.
#pragma once

#include <memory>

#include "base/target.h"
#include "compiler/algebra/algebra.h"
#include "tuner/space/space.h"

namespace lathe::space {

struct Tiling;

struct CpuContext {
  te::Workload workload;
  CpuTarget target;
  Flavour flavour = Flavour::kDefault;
  std::shared_ptr<const Tiling> direct;  // of the sums as they are written; its knobs are the first
  double streamed = 0;                   // outputs of so many bytes may be stored past the caches
  algebra::Repeated repeated = algebra::Repeated::kKept;
};

}  // namespace lathe::space
