#include "tuner/tune/known.h"

#include <cmath>

namespace lathe::tune {

void Known::add_row(const space::Config& config, double seconds, int group) {
  worked += std::isfinite(seconds);
  if (!learns) return;
  const std::size_t width = static_cast<std::size_t>(rows.width);
  rows.features.resize(rows.features.size() + width);
  subject.features({&config, 1}, std::span(rows.features).last(width), 1);
  rows.seconds.push_back(seconds);
  rows.workload.push_back(group);
}

}  // namespace lathe::tune
