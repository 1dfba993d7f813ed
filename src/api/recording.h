// What the sources of include/lathe/search.h share.
#pragma once

#include <memory>
#include <vector>

#include "base/json.h"
#include "lathe/search.h"
#include "research/recorded/recording.h"
#include "tuner/space/space.h"

namespace lathe {

struct Recording::Impl {
  recorded::Recording inner;
  std::vector<Knob> knobs;
  std::vector<double> seconds;
};

std::vector<Knob> knobs_of(const space::Space& space);

// A configuration in its form; an error names a knob that the space does not have, or that lacks
// its value. It may break constraints, which leave it as it is.
Result<space::Config> config_from(const space::Space& space, const std::string& json);

}  // namespace lathe
