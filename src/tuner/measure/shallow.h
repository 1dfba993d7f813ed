// Workloads with small expressions, so that what is derived from them is small, too.
#pragma once

#include "compiler/te/workload.h"

namespace lathe::measure {

// Cuts deep expressions of a workload: parts become stages of their own, over all iterators of the
// stage from which they are cut. A reduction over more than some 30 million iterations stays as it
// is. Tensors keep their numbers; new ones come after them.
te::Workload shallow(const te::Workload& workload);

}  // namespace lathe::measure
