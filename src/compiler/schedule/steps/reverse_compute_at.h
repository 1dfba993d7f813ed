#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Moves a consumer into `loop` of its producer, behind the producer; it computes what one iteration
// has completed.
struct ReverseComputeAt {
  std::string block, loop;

  static constexpr const char* kName = "reverse_compute_at";
  static auto fields() {
    return std::tuple{Field{"block", &ReverseComputeAt::block},
                      Field{"loop", &ReverseComputeAt::loop}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const ReverseComputeAt& step);

}  // namespace lathe::schedule
