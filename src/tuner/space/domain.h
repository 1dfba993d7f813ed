// Configurations, and what a search knows of a space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace lathe::space {

// The index of a value for each knob. All configurations of a space have the same length.
using Config = std::vector<std::uint16_t>;
struct ConfigHash {
  std::size_t operator()(const Config& config) const;
};

class Domain;
// The product of all knobs' numbers of values: configurations, valid or not, also those that differ
// in knobs without effect alone.
double combinations(const Domain& domain);

// A space as a search sees it. Space and recorded spaces implement it.
// It is thread-safe.
class Domain {
 public:
  virtual ~Domain() = default;
  virtual int knobs() const = 0;
  virtual int values(int knob) const = 0;              // number of values of the knob, >= 1
  virtual bool valid(const Config& config) const = 0;  // satisfies the constraints
  // Several configurations may be one program: returns the one that stands for all of them.
  // random() and neighbour() return only such configurations. `config` must be valid.
  virtual Config canonical(const Config& config) const { return config; }
  // Equal numbers mean one program. A few configurations of one program may have different numbers.
  virtual std::uint64_t program_number(const Config& config) const { return ConfigHash()(config); }
  // Uniform over the valid configurations, or nearly so; the result stands for its program.
  virtual Config random(Rng& rng) const = 0;
  // A valid configuration of another program in which one knob differs (or a few, where a
  // constraint ties them); `config` itself if it has no neighbour.
  virtual Config neighbour(const Config& config, Rng& rng) const = 0;
};

}  // namespace lathe::space
