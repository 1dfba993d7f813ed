#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes a copy of a buffer as one block reads it, which then reads the copy: the copy has a
// dimension for each iterator of the block that takes part in the read, in the block's order. A new
// block fills it, with loops of its own named NAME.d0 and so on; it reads what the other block
// read, padding too. So weights lie by phases, groups or reversed taps.
struct Reindex {
  std::string buffer;
  std::string name;    // of the copy
  std::string reader;  // reads the buffer at one place only

  static constexpr const char* kName = "reindex";
  static auto fields() {
    return std::tuple{Field{"buffer", &Reindex::buffer}, Field{"name", &Reindex::name},
                      Field{"reader", &Reindex::reader}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Reindex& step);

}  // namespace lathe::schedule
