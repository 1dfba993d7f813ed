#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Puts the body of an element-wise block into all its readers and removes the block. A reduction
// becomes part of its only reader, which must reduce it further in the same way.
struct Inline {
  std::string block;

  static constexpr const char* kName = "inline";
  static auto fields() { return std::tuple{Field{"block", &Inline::block}}; }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Inline& step);

}  // namespace lathe::schedule
