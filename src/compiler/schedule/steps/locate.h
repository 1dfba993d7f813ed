#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Looks for the place of an extreme in one part only. `block` is the first (or last) place whose
// element equals the extreme, as argmax has it; `by` reduces the extremes of parts of the same
// elements, which a split and an rfactor have made. A new block, `name`, finds the first (or last)
// part that has the extreme, and `block` goes through that part alone: all elements are read once.
struct Locate {
  std::string block, by, name;

  static constexpr const char* kName = "locate";
  static auto fields() {
    return std::tuple{Field{"block", &Locate::block}, Field{"by", &Locate::by},
                      Field{"name", &Locate::name}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Locate& step);

}  // namespace lathe::schedule
