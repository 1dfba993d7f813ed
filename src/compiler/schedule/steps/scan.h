#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes a scan of a reduction up to a bound: sum(s) select(s <= t, X[i,s], 0) adds to the sum of
// all before the last term that one alone. The block reduces select(condition, body, the neutral
// element), and one comparison of the condition bounds the iterator by what the body does not
// depend on. The scan is a block of its own before it, with an axis for each iterator that the
// body has. The block then reads the element of the scan at the bound, times factors of the body
// that depend on the bound's iterators. With an empty name the block becomes the scan itself,
// where it would only copy it. NaN and infinity may become each other.
struct Scan {
  std::string block;
  std::string iter;  // of the reduction, which is bounded
  std::string name;  // of the new block and its buffer; empty: the block becomes the scan

  static constexpr const char* kName = "scan";
  static auto fields() {
    return std::tuple{Field{"block", &Scan::block}, Field{"iter", &Scan::iter},
                      Field{"name", &Scan::name}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Scan& step);

}  // namespace lathe::schedule
