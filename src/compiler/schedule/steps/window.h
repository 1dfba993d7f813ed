#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Lets a loop of a reduction run over a window alone: the block reduces select(condition, body,
// the neutral element), and comparisons in the condition bound an iterator from below, from above
// or on both sides, by numbers that other iterators decide. The loop becomes as long as the longest
// window and begins where the window of each element does. The condition stays; places beyond the
// tensor's end are taken back to its last element.
struct Window {
  std::string block;
  std::string iter;  // of the reduction, which is bounded

  static constexpr const char* kName = "window";
  static auto fields() {
    return std::tuple{Field{"block", &Window::block}, Field{"iter", &Window::iter}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Window& step);

}  // namespace lathe::schedule
