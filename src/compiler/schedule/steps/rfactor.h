#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Splits the reduction of the block over a reduction `loop`. A buffer `name` with one more
// dimension holds partial results: the block accumulates into it, and a new block with the old
// one's name reduces it. The new dimension is number `dim` of the buffer; -1: the last. Where the
// items of a group share the parts, the buffer is in the group's memory.
struct Rfactor {
  std::string block, loop, name;
  int dim = -1;
  // Or kGroup, or kLanes: the loop is then one of items along threadIdx.x, of a warp at most.
  ir::Scope scope = ir::Scope::kMemory;

  static constexpr const char* kName = "rfactor";
  static auto fields() {
    return std::tuple{Field{"block", &Rfactor::block}, Field{"loop", &Rfactor::loop},
                      Field{"name", &Rfactor::name}, Field{"dim", &Rfactor::dim, nullptr, true},
                      Field{"scope", &Rfactor::scope, nullptr, true}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Rfactor& step);

}  // namespace lathe::schedule
