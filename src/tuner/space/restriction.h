// A part of a space: for each knob the values that are kept. Small enough, it can be measured whole
// and recorded.
#pragma once

#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "tuner/space/space.h"

namespace lathe::space {

// `kept` names for every knob of `space` what is kept of it: {"order": ["VPK.vp", "PVK.vp"],
// "tile.v": [1, 2], "prefetch": 0}. A single value settles a knob: it is none of the new space's.
// The default is the old one's, or, where that is not kept, what is nearest to it. The error names
// the knob and its values.
Result<std::unique_ptr<Space>> restrict_space(const std::shared_ptr<const Space>& space,
                                              const Json& kept);

}  // namespace lathe::space
