// Draws configurations of programs that were never proposed or measured. Shared by the searchers.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "tuner/search/search.h"

namespace lathe::search {

// Keeps only what was proposed or measured, never the space. Drawing is by rejection; where
// rejections pile up, what is left is small: then a small space is enumerated once, a large one is
// walked along neighbours. So a draw always ends.
class Unseen {
 public:
  explicit Unseen(const space::Domain& domain) : domain_(domain) {}

  bool contains(const space::Config& config) const {
    return seen_.contains(domain_.program_number(config));
  }
  // True if it was new.
  bool mark(const space::Config& config) {
    return seen_.insert(domain_.program_number(config)).second;
  }
  // A random configuration of a program never marked before, marked now; none if nothing is left.
  std::optional<space::Config> draw(Rng& rng);
  // Up to `wanted` of them.
  std::vector<space::Config> draw(int wanted, Rng& rng);

 private:
  std::optional<space::Config> by_rejection(int tries, Rng& rng);
  std::optional<space::Config> from_remaining();
  std::optional<space::Config> by_walking(Rng& rng);
  void enumerate(Rng& rng);
  bool small_space() const;

  const space::Domain& domain_;
  std::unordered_set<std::uint64_t> seen_;  // program numbers
  bool enumerated_ = false;
  std::vector<space::Config>
      remaining_;  // after enumeration: in random order, some of them seen since
};

}  // namespace lathe::search
