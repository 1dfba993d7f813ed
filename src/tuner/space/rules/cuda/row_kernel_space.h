// The schedules of stages that go through rows together: knobs, limits, and what they take.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "tuner/space/rules/cuda/cuda_context.h"
#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// The space of a program of such stages. Nothing where some of its stages are none.
std::optional<Derived> derive_row_kernels(const std::shared_ptr<const Prepared>& prepared,
                                          const CudaContext& context);
std::span<const Meaning> row_kernel_meanings();

}  // namespace lathe::space
