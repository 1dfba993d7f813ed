// A space as data, so that it can be used long after the rules that derived it have changed: knobs,
// constraints, and for each choice of the structural knobs the trace with open sizes. Only the
// schedule's steps must still mean the same.
#pragma once

#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "tuner/space/space.h"

namespace lathe::space {

// Derives every sketch: for small spaces.
Json freeze(const Space& space);
// The same knobs, configurations, programs and hash. Every sketch is built again here: the error
// says which step cannot be applied any more. Needs no target and no LLVM.
Result<std::unique_ptr<Space>> thaw(const te::Program& program, const Json& frozen);

}  // namespace lathe::space
