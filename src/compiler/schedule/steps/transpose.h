#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes a copy of a buffer with its dimensions in another order, which a new block fills, with
// loops of its own named NAME.d0 and so on. The block `reader` then reads the copy. Without a
// reader, the block that computes the buffer is called NAME and computes the copy, and a new block
// with its old name brings the values back, with loops named BLOCK.iterator@NAME. The copy is a
// tensor of its own: axes that lie side by side there can be merged.
struct Transpose {
  std::string buffer;
  std::string name;                 // of the copy
  std::vector<std::int64_t> order;  // dimension d of the copy is dimension order[d] of the buffer
  std::string reader;               // empty: the block that computes the buffer writes the copy

  static constexpr const char* kName = "transpose";
  static auto fields() {
    return std::tuple{Field{"buffer", &Transpose::buffer}, Field{"name", &Transpose::name},
                      Field{"order", &Transpose::order},
                      Field{"reader", &Transpose::reader, nullptr, true}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Transpose& step);

}  // namespace lathe::schedule
