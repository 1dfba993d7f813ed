// What a Space holds; derived and hand-written spaces share it.
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

  te::Workload workload;
  Derived derived;
  std::vector<int> structural;          // knobs
  std::vector<int> order;               // parents_first()
  std::vector<Constraint> constraints;  // those whose sizes are known first, first
  struct Configurations {
    std::vector<double> under;  // by value: the choices of the knobs under it
    double all = 0;
  };
  std::vector<Configurations> configurations;  // by knob
  mutable std::shared_mutex mutex;
  // By choice_number().
  mutable std::unordered_map<std::uint64_t, std::unique_ptr<Result<Sketch>>> sketches;
  std::unique_ptr<Forms> forms;  // null: every configuration stands for itself

  bool has_effect(const Config& config, int knob) const;
  // The values of the structural knobs that have an effect, as one number.
  std::uint64_t choice_number(const Config& config) const;
  // Derives the sketch on first use. The reference stays valid.
  const Result<Sketch>& sketch(const Config& config) const;
  void knob_values(const Config& config, std::vector<std::int64_t>& out) const;
};

// The numbers of the knobs, each after the one that it is under.
std::vector<int> parents_first(const std::vector<Knob>& knobs);

// Makes the space: indexes its structural knobs and checks its default. All configurations of one
// program have one form.
std::unique_ptr<Space> finish_space(std::unique_ptr<Space::Impl> impl);
// The same for a small space that is a list of configurations, each of which stands for itself. Its
// default may be invalid; then the first valid configuration becomes the default. Fails if there is
// none, or if the space is too large to be listed.
Result<std::unique_ptr<Space>> finish_part(std::unique_ptr<Space::Impl> impl);

}  // namespace lathe::space
