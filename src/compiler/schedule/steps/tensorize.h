#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Replaces the loops from `loop` inwards by an intrinsic (ir/intrinsics/) that computes the
// same.
struct Tensorize {
  std::string loop;
  ir::IntrinsicId intrinsic = ir::IntrinsicId::kNone;  // a step names one

  static constexpr const char* kName = "tensorize";
  static auto fields() {
    return std::tuple{Field{"loop", &Tensorize::loop}, Field{"intrinsic", &Tensorize::intrinsic}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Tensorize& step);

}  // namespace lathe::schedule
