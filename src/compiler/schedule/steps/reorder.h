#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Gives loops on one path, anywhere in it, this order from outside in. Loops between them that are
// not named stay where they are.
struct Reorder {
  std::vector<std::string> loops;

  static constexpr const char* kName = "reorder";
  static auto fields() { return std::tuple{Field{"loops", &Reorder::loops}}; }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Reorder& step);

}  // namespace lathe::schedule
