// Turns a resolved stage of the text into typed stages. Two kinds of reductions
// become stages of their own: those inside larger expressions, and those whose result has another
// type than their accumulator.
#pragma once

#include <functional>

#include "compiler/te/program.h"
#include "compiler/te/resolve.h"

namespace lathe::te {

struct StageTarget {
  int tensor = -1;             // -1: to be made after the stages that split off
  std::optional<Dtype> dtype;  // as declared; else it follows from the expression
  std::function<std::string(std::string)> unique_name;
};

// Appends stages and tensors to `program` and returns the tensor written. All extents of `scope`
// must be known, and every tensor that is read must exist in `program`.
Result<int> build_stage(Program& program, const StageSyntax& stage, const StageScope& scope,
                        const StageTarget& target);

}  // namespace lathe::te
