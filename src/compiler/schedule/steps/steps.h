// One function for each step, in a file of its own: first the checks that refuse, then the rewrite.
// A function that refuses may leave the nest half changed, so apply() works on a copy.
#pragma once

#include "compiler/schedule/step.h"

namespace lathe::schedule {

StepResult<void> apply_step(ir::Nest& nest, const Split& step);
StepResult<void> apply_step(ir::Nest& nest, const Fuse& step);
StepResult<void> apply_step(ir::Nest& nest, const Reorder& step);
StepResult<void> apply_step(ir::Nest& nest, const ComputeAt& step);
StepResult<void> apply_step(ir::Nest& nest, const ReverseComputeAt& step);
StepResult<void> apply_step(ir::Nest& nest, const Inline& step);
StepResult<void> apply_step(ir::Nest& nest, const Cache& step);
StepResult<void> apply_layout(ir::Nest& nest, const Layout& step, bool free_layout);
StepResult<void> apply_step(ir::Nest& nest, const Rfactor& step);
StepResult<void> apply_step(ir::Nest& nest, const Tensorize& step);
StepResult<void> apply_step(ir::Nest& nest, const Annotate& step);

}  // namespace lathe::schedule
