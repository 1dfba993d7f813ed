#include "support/special_values.h"

#include <cmath>
#include <limits>

namespace lathe {
namespace {

double in_type(Dtype dtype, double value) {
  std::uint64_t bits = 0;
  store_element(dtype, &bits, value);
  return load_element(dtype, &bits);
}

double special(Dtype dtype, Rng& rng, bool with_infinities) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (dtype) {
    case Dtype::kBool: return 1;
    case Dtype::kI8: return rng.chance(0.5) ? -128 : 127;
    case Dtype::kU8: return rng.chance(0.5) ? 0 : 255;
    case Dtype::kI16: return rng.chance(0.5) ? -0x1p15 : 0x1p15 - 1;
    case Dtype::kU16: return rng.chance(0.5) ? 0 : 0x1p16 - 1;
    case Dtype::kU32: return rng.chance(0.5) ? 0 : 0x1p32 - 1;
    case Dtype::kI32: return rng.chance(0.5) ? -0x1p31 : 0x1p31 - 1;
    case Dtype::kI64: return rng.chance(0.5) ? -0x1p40 : 0x1p40;
    default: break;
  }
  const double sign = rng.chance(0.5) ? -1 : 1;
  const bool half = dtype == Dtype::kF16;
  switch (rng.below(with_infinities ? 6 : 4)) {
    case 0: return sign * 0.0;
    case 1:
      return sign * in_type(dtype, half                   ? 0x1p-24
                                   : dtype == Dtype::kF64 ? 0x1p-1074
                                   : dtype == Dtype::kF32 ? 0x1p-149
                                                          : 0x1p-133);
    case 2:
      return sign * in_type(dtype, half                   ? 0x1.4p-15
                                   : dtype == Dtype::kF64 ? 0x1.4p-1023
                                                          : 0x1.4p-127);
    case 3: return sign * in_type(dtype, half ? 60000 : dtype == Dtype::kF64 ? 1e308 : 3e38);
    case 4: return sign * kInf;
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace

std::vector<interp::Tensor> special_inputs(const te::Workload& workload, Rng& rng,
                                           bool with_infinities) {
  std::vector<interp::Tensor> inputs = interp::random_inputs(workload, rng);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(workload.inputs()[i])];
    if (tensor.range && !is_float(tensor.dtype)) continue;  // places in other tensors
    for (double& value : inputs[i].values)
      if (rng.chance(0.2)) value = special(inputs[i].dtype, rng, with_infinities);
  }
  return inputs;
}

}  // namespace lathe
