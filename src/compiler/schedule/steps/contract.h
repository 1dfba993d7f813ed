#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Some factors of a sum of products become a block of their own before it. It multiplies them and
// sums up over the iterators that no other factor has; the block then multiplies the others by what
// it reads of that. A block whose sum is done there becomes a map. So a product of several matrices
// is one of two after the other, and what one factor alone has is summed up first. NaN and infinity
// may become each other.
struct Contract {
  std::string block;
  std::vector<std::int64_t> factors;  // their numbers, from left to right
  std::string name;                   // of the new block and its buffer

  static constexpr const char* kName = "contract";
  static auto fields() {
    return std::tuple{Field{"block", &Contract::block}, Field{"factors", &Contract::factors},
                      Field{"name", &Contract::name}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Contract& step);

}  // namespace lathe::schedule
