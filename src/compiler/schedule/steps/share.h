#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// A block reads what another one before it has computed already, instead of computing it again:
// all of its result where that is the same reduction, else each expression in its body that is the
// other's, with other iterators.
struct Share {
  std::string block;
  std::string from;  // the other block

  static constexpr const char* kName = "share";
  static auto fields() {
    return std::tuple{Field{"block", &Share::block}, Field{"from", &Share::from}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Share& step);

}  // namespace lathe::schedule
