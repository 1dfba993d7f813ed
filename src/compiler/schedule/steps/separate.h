#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// A reduction goes over some of its iterators first, in a block of its own; the block then reduces
// what that has made over the others. So a window of two dimensions is one along each. Factors of a
// sum that have none of the iterators are multiplied by the result.
struct Separate {
  std::string block;
  std::vector<std::string> iters;  // some that the block reduces, not all
  std::string name;                // of the new block and its buffer

  static constexpr const char* kName = "separate";
  static auto fields() {
    return std::tuple{Field{"block", &Separate::block}, Field{"iters", &Separate::iters},
                      Field{"name", &Separate::name}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Separate& step);

}  // namespace lathe::schedule
