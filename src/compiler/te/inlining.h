// Which stages are computed again wherever they are read, instead of being stored.
#pragma once

#include <vector>

#include "compiler/te/program.h"

namespace lathe::te {

// For each stage, whether to inline it: element-wise intermediate ones, in order, as long as no
// expression that reads them grows past kMaxInlined nodes. A chain in which each stage reads the
// one before it twice would else grow without end.
inline constexpr double kMaxInlined = 200;
std::vector<bool> stages_to_inline(const Program& program);

}  // namespace lathe::te
