#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes partial results of a reduction relative to the extreme of their own part: they need that of
// all no more. `block` reduces partial results, `by` is the block that reduces the maxima (or
// minima) of the same parts. A sum of exp(x - maximum) is rescaled by exp(own maximum - maximum)
// where `block` adds the parts up; of a part whose own extreme is not that of all, a selection of
// the elements that equal the extreme takes nothing. So both reductions can go through a part
// together, and memory is read once.
struct Rescale {
  std::string block, by;

  static constexpr const char* kName = "rescale";
  static auto fields() {
    return std::tuple{Field{"block", &Rescale::block}, Field{"by", &Rescale::by}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Rescale& step);

}  // namespace lathe::schedule
