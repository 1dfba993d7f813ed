// Does what an intrinsic does as its lanes do it: each gathers the elements that its row of the
// table says, the instruction combines them, and each scatters its results. So the layouts of the
// fragments are proven against the plain sum.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/intrinsics/intrinsic.h"

namespace lathe::interp {

// Values of the intrinsic's iterators; 0 where one does not move the operand.
using TileIters = std::vector<int>;

// Whose element (lane, element) of a fragment is.
TileIters iters_at(const ir::Intrinsic& intrinsic, const ir::Fragment& fragment, int lane,
                   int element);

struct TileAccess {
  std::function<double(const TileIters&)> left, right, result;
  std::function<void(const TileIters&, double)> store;
};
// Factors are rounded as the row says, products are exact, and sums are rounded to the accumulator
// in the order of the terms; an instruction may choose another order.
void run_lanes(const ir::Intrinsic& intrinsic, const TileAccess& access);

// To nearest with so many bits of the mantissa besides the leading one, ties away from zero; of
// f32. 0 bits: as it is.
double rounded_mantissa(double value, int bits);

}  // namespace lathe::interp
