#include "compiler/schedule/edit.h"
#include "compiler/schedule/steps/steps.h"
namespace lathe::schedule {
StepResult<void> apply_step(ir::Nest&, const Rfactor& step) { return refuse(Refusal::kNotAReduction, step.block); }
StepResult<void> apply_step(ir::Nest&, const Tensorize& step) { return refuse(Refusal::kNoSuchIntrinsic, step.intrinsic); }
}
