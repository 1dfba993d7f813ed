// Turns a resolved stage of the text into typed stages. Two kinds of reductions
// become stages of their own: those inside larger expressions, and those whose result has another
// type than their accumulator.
#pragma once

#include <functional>

#include "compiler/te/resolve.h"
#include "compiler/te/workload.h"

namespace lathe::te {

struct StageOutput {
  int tensor = -1;             // -1: to be made after the stages that split off
  std::optional<Dtype> dtype;  // as declared; else it follows from the expression
  std::function<std::string(std::string)> unique_name;
};

// Appends stages and tensors to `workload` and returns the tensor written. All extents of `scope`
// must be known, and every tensor that is read must exist in `workload`.
Result<int> build_stage(Workload& workload, const StageSyntax& stage, const StageScope& scope,
                        const StageOutput& output);

}  // namespace lathe::te
