#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Stores an output past the caches (streaming, or non-temporal, stores): its lines are not read
// from memory before they are overwritten, and what is in the caches stays there. While a sum is
// under way, it is stored as without this step.
struct Stream {
  std::string buffer;

  static constexpr const char* kName = "stream";
  static auto fields() { return std::tuple{Field{"buffer", &Stream::buffer}}; }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Stream& step);

}  // namespace lathe::schedule
