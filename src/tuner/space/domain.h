// Configurations, and a space as a search sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace lathe::space {

// A value index a knob. Fixed length within one space.
using Config = std::vector<std::uint16_t>;
struct ConfigHash {
  std::size_t operator()(const Config& config) const;
};

// What a search knows of a space. Implemented by Space and by recorded spaces (replay).
// Thread-safe.
class Domain {
 public:
  virtual ~Domain() = default;
  virtual int knobs() const = 0;
  virtual int values(int knob) const = 0;              // number of values of the knob, >= 1
  virtual bool valid(const Config& config) const = 0;  // satisfies the constraints
  // Several configurations may be one program: the one of them that stands for all. random() and
  // neighbour() answer with such ones only. Given a valid configuration.
  virtual Config canonical(const Config& config) const { return config; }
  // Equal only for configurations of one program; a few of those may have different forms.
  virtual std::uint64_t program_number(const Config& config) const { return ConfigHash()(config); }
  // uniform over the valid configurations, or close to it, brought to their form
  virtual Config random(Rng& rng) const = 0;
  // One knob changed (or a few, where a constraint ties them), valid, another program; `config`
  // itself if it has no neighbour.
  virtual Config neighbour(const Config& config, Rng& rng) const = 0;
};

}  // namespace lathe::space
