// The schedules of windows and maps on a card: knobs, limits, and what they take.
#pragma once

#include <memory>
#include <optional>

#include "tuner/space/rules/cuda/cuda_context.h"
#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// The space of a program whose main stage is one. Nothing where it is none. Its knobs are explained
// with those of other structures.
std::optional<Derived> derive_windows(const std::shared_ptr<const Prepared>& prepared,
                                      const CudaContext& context);

}  // namespace lathe::space
