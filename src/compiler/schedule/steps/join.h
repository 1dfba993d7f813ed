#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes loops that follow each other one, the first, which does in each iteration what all of them
// did: a row of every stage, and then the next row. Whatever one of them reads of what another has
// written must have been written in the same iteration. What stands between them comes to stand
// before them or behind them. Buffers that only this loop uses then live
// for one iteration of it, so that a row stays in the cache from stage to stage.
struct Join {
  std::vector<std::string> loops;  // in their order; serial or parallel ones, of equal extents

  static constexpr const char* kName = "join";
  static auto fields() { return std::tuple{Field{"loops", &Join::loops}}; }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Join& step);

}  // namespace lathe::schedule
