#include "compiler/schedule/steps/layout.h"

#include <fmt/format.h>

#include "compiler/schedule/edit.h"

namespace lathe::schedule {

std::string Layout::text() const {
  const std::string out =
      fmt::format("layout of {} is {}", buffer, layout.empty() ? "row-major" : text_of(layout));
  return pad_stride == 0 ? out : out + fmt::format(", rows padded by {}", pad_stride);
}

namespace {
constexpr std::int64_t kLongestPad = std::int64_t{1} << 30;
}

StepResult<void> apply_step(ir::Nest& nest, const Layout& step, bool free_layout) {
  const ir::BufferId id = LATHE_TRY(buffer_named(nest, step.buffer));
  ir::Buffer& buffer = nest.buffers[id];
  const bool border = buffer.scope == ir::Scope::kInput || buffer.scope == ir::Scope::kOutput;
  if (border && !free_layout) return refuse(Refusal::kPlainBorder, step.buffer);
  if (buffer.scope == ir::Scope::kLiteral ||
      (buffer.scope == ir::Scope::kRegister && step.pad_stride != 0))
    return refuse(Refusal::kBadScope, step.buffer);
  if (step.pad_stride < 0 || step.pad_stride > kLongestPad)
    return refuse(Refusal::kBadNumber, step.buffer);
  const bool own = buffer.scope == ir::Scope::kGroup || buffer.scope == ir::Scope::kMemory;
  buffer.layout =
      LATHE_TRY(resolve_layout(nest, step.layout, buffer.shape.size(), step.buffer, own));
  buffer.pad_stride = step.pad_stride;
  return {};
}

}  // namespace lathe::schedule
