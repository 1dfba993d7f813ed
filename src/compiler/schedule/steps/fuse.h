#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes one loop of directly nested loops (the second is the only child of the first, and so on);
// the first is the slowest.
struct Fuse {
  std::vector<std::string> loops;
  std::string fused;

  static constexpr const char* kName = "fuse";
  static auto fields() {
    return std::tuple{Field{"loops", &Fuse::loops}, Field{"fused", &Fuse::fused}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Fuse& step);

}  // namespace lathe::schedule
