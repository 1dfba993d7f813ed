// What a workload promises of its inputs and asks of its outputs, checked against their types.
#include <cmath>

#include "compiler/te/types.h"
#include "compiler/te/validate.h"

namespace lathe::te {
Status check_max_error(const Workload& workload) {
  const double asked = workload.contract.max_error;
  if (asked == Contract{}.max_error) return {};
  for (const int t : workload.outputs()) {
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(t)];
    const double least = epsilon_of(tensor.dtype);
    if (asked < least)
      return fail(ErrorKind::kInvalidArgument,
                  "no {} is as accurate as a max_error of {:.3g} asks, and {} is of that type; the "
                  "least that can be asked for is {}",
                  name_of(tensor.dtype), asked, tensor.name, max_error_from(least));
  }
  return {};
}

Status check_range(const Tensor& tensor) {
  if (!tensor.range) return {};
  const auto [low, high] = *tensor.range;
  if (tensor.role != TensorRole::kInput)
    return fail(ErrorKind::kInvalidArgument,
                "{} is no input, so its range follows from what it is made of", tensor.name);
  if (tensor.dtype == Dtype::kBool)
    return fail(ErrorKind::kInvalidArgument, "{} is bool, which has no range", tensor.name);
  if (!(std::isfinite(low) && std::isfinite(high) && low <= high))
    return fail(
        ErrorKind::kInvalidArgument,
        "the range of {} goes from a finite number to one that is no smaller, as in 0..1; {} to "
        "{} does not",
        tensor.name, low, high);
  for (const double end : {low, high})
    if (LATHE_TRY(number_as(end, tensor.dtype)) != end)
      return fail(ErrorKind::kInvalidArgument, "{}, an end of {}'s range, is not rounded to {}",
                  end, tensor.name, name_of(tensor.dtype));
  return {};
}

}  // namespace lathe::te
