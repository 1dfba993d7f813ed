#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Takes a factor out of the terms of a block's body that have it: a*c + b*c becomes (a + b)*c.
// Terms and the factors of each are numbered from left to right.
struct Collect {
  std::string block;
  std::int64_t term = 0;
  std::int64_t factor = 0;  // of that term

  static constexpr const char* kName = "collect";
  static auto fields() {
    return std::tuple{Field{"block", &Collect::block}, Field{"term", &Collect::term},
                      Field{"factor", &Collect::factor}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Collect& step);

}  // namespace lathe::schedule
