// From a resolved stage of the text to typed stages of the program; reductions inside larger
// expressions, and those whose result has another type than their accumulator, become stages of
// their own.
#pragma once

#include <functional>

#include "compiler/te/program.h"
#include "compiler/te/resolve.h"

namespace lathe::te {

struct StageTarget {
  int tensor = -1;             // -1: made after the stages split off
  std::optional<Dtype> dtype;  // declared; else it follows from the expression
  std::function<std::string(std::string)> unique_name;
};

// All extents of `scope` are known, and every tensor read exists in `program`. Appends stages and
// tensors; returns the tensor written.
Result<int> build_stage(Program& program, const StageSyntax& stage, const StageScope& scope,
                        const StageTarget& target);

}  // namespace lathe::te
