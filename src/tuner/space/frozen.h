// A space as data, so that it can be used long after the rules that derived it have changed: knobs,
// constraints, and the trace with open sizes for each choice of the structural knobs. Only the
// steps of schedules must keep their meaning.
#pragma once

#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "tuner/space/space.h"

namespace lathe::space {

// Derives every sketch, so it is for small spaces.
Json freeze(const Space& space);
// Makes a space with the same knobs, configurations, programs and hash. It builds every sketch
// again; the error tells which step cannot be applied any more. It needs no target and no LLVM.
Result<std::unique_ptr<Space>> thaw(const te::Workload& workload, const Json& frozen);

}  // namespace lathe::space
