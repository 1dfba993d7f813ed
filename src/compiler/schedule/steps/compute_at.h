#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Moves the block that computes a buffer into `loop`, before the consumer there; it computes the
// box that one iteration needs. Others may read the buffer where the consumer reads all of it,
// element for element, and may come before them: then it lives on, and a map and a reduction over
// what it makes are one pass. New loops are named BLOCK.iterator + "@" + loop.
//
// In the memory of a group the buffer holds what all items of the group need, whatever loops of
// items are around `loop`; these are bound before.
struct ComputeAt {
  std::string block, loop;
  ir::Scope scope = ir::Scope::kMemory;  // kGroup, or where the buffer is already

  static constexpr const char* kName = "compute_at";
  static auto fields() {
    return std::tuple{Field{"block", &ComputeAt::block}, Field{"loop", &ComputeAt::loop},
                      Field{"scope", &ComputeAt::scope, nullptr, true}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const ComputeAt& step);

}  // namespace lathe::schedule
