#include "tuner/space/rules/shared/busiest.h"

#include <algorithm>

namespace lathe::space {
namespace {

// The share of the work in so many parts that follow each other, of those that have most.
double largest(std::span<const SharedAxis> axes, std::int64_t parts) {
  if (axes.empty() || parts == 0) return parts == 0 ? 0 : 1;
  const SharedAxis& outer = axes[0];
  const double block =
      static_cast<double>(std::min(outer.block, outer.count)) / static_cast<double>(outer.count);
  const std::int64_t inside = parts_of(axes.subspan(1));
  const std::int64_t full = parts / inside;
  const double whole = block * static_cast<double>(full);
  return std::min(1.0, whole + block * largest(axes.subspan(1), parts % inside));
}

}  // namespace

std::int64_t parts_of(std::span<const SharedAxis> axes) {
  std::int64_t parts = 1;
  for (const SharedAxis& axis : axes) parts *= axis.parts();
  return parts;
}

double busiest_share(std::span<const SharedAxis> axes, int threads) {
  return largest(axes, (parts_of(axes) + threads - 1) / threads);
}

}  // namespace lathe::space
