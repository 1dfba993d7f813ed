#include "tuner/space/domain.h"

namespace lathe::space {

std::size_t ConfigHash::operator()(const Config& config) const {
  std::uint64_t state = 0x9e3779b97f4a7c15U ^ config.size();
  for (const std::uint16_t value : config) {
    state = (state ^ value) * 0xff51afd7ed558ccdU;
    state ^= state >> 32;
  }
  return static_cast<std::size_t>(state);
}

double combinations(const Domain& domain) {
  double product = 1;
  for (int knob = 0; knob < domain.knobs(); ++knob) product *= domain.values(knob);
  return product;
}

}  // namespace lathe::space
