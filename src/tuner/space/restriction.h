// A part of a space: for each knob the values that are kept. A small part can be measured whole and
// recorded.
#pragma once

#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "tuner/space/space.h"

namespace lathe::space {

// `kept` says for every knob of `space` which values stay: {"order": ["VPK.vp", "PVK.vp"],
// "tile.v": [1, 2], "prefetch": 0}. A single value settles the knob, which the new space then does
// not have. A knob under which others are conditional may be left out and keeps its first value, as
// may those that then have no effect. The default is the old one or, where that is not kept, the
// values nearest to it. An error names the knob and its values.
Result<std::unique_ptr<Space>> restrict_space(const std::shared_ptr<const Space>& space,
                                              const Json& kept);

}  // namespace lathe::space
