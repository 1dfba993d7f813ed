// The schedules of long sums that the threads of a block share: knobs, limits, and sizes of stages
// without knobs.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "tuner/space/rules/cuda/cuda_context.h"
#include "tuner/space/rules/cuda/thread_sum.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// What suits the card: as many blocks as it has multiprocessors, where there are so many results.
ThreadSumSizes fixed_sum_sizes(const ItemStage& stage, const ThreadSum& sum,
                               const CudaTarget& target, ir::Nest& nest);

// The steps with which schedules for a card begin. A long sum with few results is cut in parts, of
// which all multiprocessors have some.
Prepared prepare_for_card(const te::Workload& workload, const CudaTarget& target);

// The space of a program whose main stage is such a sum. Nothing where it is none.
std::optional<Derived> derive_thread_sums(const std::shared_ptr<const Prepared>& prepared,
                                          const CudaContext& context);
std::span<const Meaning> thread_sum_meanings();

}  // namespace lathe::space
