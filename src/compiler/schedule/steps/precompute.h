#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes a block of its own of an expression inside a block's body, before that block, which then
// reads the values, wherever it has that expression. The new buffer has an axis for each iterator
// that the expression depends on, or for what its reads have in common: exp(X[y + r]) is computed
// once for each element of X. Loops are named NAME.iterator.
struct Precompute {
  std::string block;
  std::int64_t expression = 0;  // its number, from outside in and from left to right; 0: the body
  std::string name;             // of the new block and its buffer

  static constexpr const char* kName = "precompute";
  static auto fields() {
    return std::tuple{Field{"block", &Precompute::block},
                      Field{"expression", &Precompute::expression},
                      Field{"name", &Precompute::name}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Precompute& step);

}  // namespace lathe::schedule
