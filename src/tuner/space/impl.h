// What a Space holds, shared by derived and hand-written spaces.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "tuner/space/rules/rule.h"
#include "tuner/space/space.h"

namespace lathe::space {

class Forms;

struct Space::Impl {
  Impl();
  ~Impl();

  te::Program program;
  Derived derived;
  std::vector<int> structural;  // knobs
  mutable std::shared_mutex mutex;
  // by choice_number()
  mutable std::unordered_map<std::uint64_t, std::unique_ptr<Result<Sketch>>> sketches;
  std::unique_ptr<Forms> forms;  // null: every configuration stands for itself

  // The values of the structural knobs as one number.
  std::uint64_t choice_number(const Config& config) const;
  // Derived on first use. A reference stays valid.
  const Result<Sketch>& sketch(const Config& config) const;
  void knob_values(const Config& config, std::vector<std::int64_t>& out) const;
};

// The space, its structural knobs indexed, its default checked. Its configurations have one form a
// program.
std::unique_ptr<Space> finish_space(std::unique_ptr<Space::Impl> impl);
// The same for a small space that is a list of configurations: each stands for itself. Nobody
// promises that the default is valid: if it is not, the first configuration that is becomes it. An
// error: there is none, or the space is too large to be listed.
Result<std::unique_ptr<Space>> finish_part(std::unique_ptr<Space::Impl> impl);

}  // namespace lathe::space
