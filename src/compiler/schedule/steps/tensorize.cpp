#include "compiler/schedule/steps/tensorize.h"

#include <fmt/format.h>

#include "compiler/analysis/intrinsic_loops.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {

using ir::LoopId;

namespace {

Refusal refusal_of(analysis::OtherLoops why) {
  switch (why) {
    case analysis::OtherLoops::kNotInnermost: return Refusal::kNotInnermost;
    case analysis::OtherLoops::kOtherTypes: return Refusal::kIntrinsicTypes;
    case analysis::OtherLoops::kOtherExtents: return Refusal::kIntrinsicExtents;
    case analysis::OtherLoops::kTail: return Refusal::kIntrinsicTail;
    case analysis::OtherLoops::kOtherSum: break;
  }
  return Refusal::kIntrinsicMismatch;
}

}  // namespace

std::string Tensorize::text() const {
  return fmt::format("tensorize {} by {}", loop, name_of(intrinsic));
}

StepResult<void> apply_step(ir::Nest& nest, const Tensorize& step) {
  const LoopId loop = LATHE_TRY(loop_named(nest, step.loop));
  const auto found = analysis::intrinsic_loops(nest, loop, row_of(step.intrinsic));
  if (!found) return refuse(refusal_of(found.error()), step.loop);
  for (const LoopId l : found->loops)
    if (nest.loops[l].kind != ir::LoopKind::kSerial || is_tensorized(nest, l))
      return refuse(Refusal::kAlreadyBound, nest.loops[l].name);
  nest.loops[loop].intrinsic = step.intrinsic;
  return {};
}

}  // namespace lathe::schedule
