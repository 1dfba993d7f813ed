#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// A sum of terms that are added or subtracted becomes as many sums: each term is summed up by a
// block of its own, and the block then adds or subtracts what it reads of them.
struct Distribute {
  std::string block;
  std::vector<std::string> names;  // of the new blocks and their buffers, one for each term

  static constexpr const char* kName = "distribute";
  static auto fields() {
    return std::tuple{Field{"block", &Distribute::block}, Field{"names", &Distribute::names}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Distribute& step);

}  // namespace lathe::schedule
