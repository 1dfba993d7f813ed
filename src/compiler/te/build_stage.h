// Turns a resolved stage of the text into typed stages. Two kinds of reductions
// become stages of their own: those inside larger expressions, and those whose result has another
// type than their accumulator.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "compiler/te/resolve.h"
#include "compiler/te/workload.h"

namespace lathe::te {

struct StageOutput {
  int tensor = -1;             // -1: to be made after the stages that split off
  std::optional<Dtype> dtype;  // as declared; else it follows from the expression
  std::function<std::string(std::string)> unique_name;
};

using OpenTensors = std::set<std::string, std::less<>>;
// The type of what the stage computes where those of `open` take any; none where that does not
// tell. All else that it reads must exist in `workload`.
std::optional<Dtype> natural_type(const Workload& workload, const StageSyntax& stage,
                                  const OpenTensors& open);

// Appends stages and tensors to `workload` and returns the tensor written. All extents of `scope`
// must be known, and every tensor that is read must exist in `workload`.
Result<int> build_stage(Workload& workload, const StageSyntax& stage, const StageScope& scope,
                        const StageOutput& output);

}  // namespace lathe::te
