// What a Space holds, shared by derived and hand-written spaces.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tuner/space/rules/rule.h"
#include "tuner/space/space.h"

namespace lathe::space {

struct Space::Impl {
  te::Program program;
  Derived derived;
  std::vector<int> structural;  // knobs
  mutable std::mutex mutex;
  mutable std::map<std::vector<std::uint16_t>, std::unique_ptr<Result<Sketch>>> sketches;

  // Derived on first use. A reference stays valid.
  const Result<Sketch>& sketch(const Config& config) const;
};

// The space, its structural knobs indexed, its default checked.
std::unique_ptr<Space> finish_space(std::unique_ptr<Space::Impl> impl);
// The same for a small space, of which nobody promises that the default is valid: if it is not, the first configuration
// that is becomes it. An error: there is none, or the space is too large to be listed.
Result<std::unique_ptr<Space>> finish_part(std::unique_ptr<Space::Impl> impl);

}  // namespace lathe::space
