#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Splits a loop into an outer loop of ceildiv(extent, factor) and an inner loop of factor
// iterations, for any factor >= 1. The inner loop gets `tail`.
struct Split {
  std::string loop;
  Size factor;
  std::string outer, inner;
  ir::Tail tail = ir::Tail::kPeel;

  static constexpr const char* kName = "split";
  static auto fields() {
    return std::tuple{Field{"loop", &Split::loop}, Field{"factor", &Split::factor},
                      Field{"outer", &Split::outer}, Field{"inner", &Split::inner},
                      Field{"tail", &Split::tail}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Split& step);

}  // namespace lathe::schedule
