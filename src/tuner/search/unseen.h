// Draws configurations of programs that were never proposed or measured. All searchers use it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "tuner/search/search.h"

namespace lathe::search {

// It stores what was proposed or measured, but never the space. It draws by rejection. Many
// rejections mean that little is left: then it lists a small space once, and walks a large one
// along neighbours. So a draw always ends.
class Unseen {
 public:
  explicit Unseen(const space::Domain& domain) : domain_(domain) {}

  bool contains(const space::Config& config) const {
    return seen_.contains(domain_.program_number(config));
  }
  // Returns true if it was new.
  bool mark(const space::Config& config) {
    return seen_.insert(domain_.program_number(config)).second;
  }
  // A random configuration of a program that was never marked before; it is marked now. None if
  // nothing is left.
  std::optional<space::Config> draw(Rng& rng);
  // Draws up to `wanted` of them.
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
  std::vector<space::Config> remaining_;  // once listed: in random order; some have been seen since
};

}  // namespace lathe::search
