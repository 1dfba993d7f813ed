#include "compiler/schedule/steps/stream.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {

std::string Stream::text() const { return fmt::format("stores to {} go past the caches", buffer); }

StepResult<void> apply_step(ir::Nest& nest, const Stream& step) {
  const ir::BufferId id = LATHE_TRY(buffer_named(nest, step.buffer));
  const auto sums_up = [&](ir::BlockId block) {
    return nest.blocks[block].reduce != ir::ReduceOp::kNone;
  };
  if (nest.buffers[id].scope != ir::Scope::kOutput || !analysis::readers_of(nest, id).empty() ||
      std::ranges::any_of(analysis::writers_of(nest, id), sums_up))
    return refuse(Refusal::kReadAgain, step.buffer);
  nest.buffers[id].streaming = true;
  return {};
}

}  // namespace lathe::schedule
