#include "oracle/lanes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>

namespace lathe::interp {
namespace {

// The elements of a factor as the lanes hold them. Lanes that hold the same one have the same
// value.
std::map<TileIters, double> gathered(const ir::Intrinsic& intrinsic, const ir::Fragment& fragment,
                                     const std::function<double(const TileIters&)>& load) {
  std::map<TileIters, double> elements;
  for (int lane = 0; lane < intrinsic.lanes; ++lane)
    for (int element = 0; element < fragment.elements; ++element) {
      const TileIters iters = iters_at(intrinsic, fragment, lane, element);
      elements[iters] = rounded_mantissa(load(iters), fragment.mantissa_bits);
    }
  return elements;
}

// `iters` with those that do not move the operand at 0.
TileIters seen_by(const ir::Fragment& fragment, TileIters iters) {
  for (std::size_t i = 0; i < iters.size(); ++i)
    if (!fragment.has(static_cast<int>(i))) iters[i] = 0;
  return iters;
}

}  // namespace

TileIters iters_at(const ir::Intrinsic& intrinsic, const ir::Fragment& fragment, int lane,
                   int element) {
  TileIters iters(intrinsic.iters.size());
  for (const ir::FragmentCoordinate& c : fragment.coordinates)
    if (c.iter >= 0) iters[static_cast<std::size_t>(c.iter)] = c.value(lane, element);
  return iters;
}

void run_lanes(const ir::Intrinsic& intrinsic, const TileAccess& access) {
  const auto left = gathered(intrinsic, intrinsic.left, access.left);
  const auto right = gathered(intrinsic, intrinsic.right, access.right);
  LATHE_CHECK(intrinsic.reduce == ir::ReduceOp::kSum, "{} is no sum", intrinsic.name);
  for (int lane = 0; lane < intrinsic.lanes; ++lane)
    for (int element = 0; element < intrinsic.result.elements; ++element) {
      const TileIters at = iters_at(intrinsic, intrinsic.result, lane, element);
      double sum = access.result(at);
      for (int term = 0; term < intrinsic.terms(); ++term) {
        TileIters iters = at;
        intrinsic.bind_term(
            term, [&](int iter, int value) { iters[static_cast<std::size_t>(iter)] = value; });
        sum += left.at(seen_by(intrinsic.left, iters)) * right.at(seen_by(intrinsic.right, iters));
        if (intrinsic.accumulator == Dtype::kF32) sum = static_cast<float>(sum);
      }
      access.store(at, sum);
    }
}

double rounded_mantissa(double value, int bits) {
  constexpr int kMantissa = 23;
  if (bits == 0 || !std::isfinite(value)) return value;
  const int dropped = kMantissa - bits;
  // Half of the last bit that stays is added to the size of the number; a carry goes into the
  // exponent, where it belongs.
  const auto number = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t half = std::uint32_t{1} << (dropped - 1);
  return std::bit_cast<float>((number + half) >> dropped << dropped);
}

}  // namespace lathe::interp
