// Rows of several stages as one loop.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/nest/nest.h"
#include "compiler/schedule/step.h"

namespace lathe::space {

// Makes the rows of all stages one loop, which threads share. Throws StepRefused.
void join_rows(const std::vector<std::vector<std::string>>& loops, int threads, ir::Nest& nest,
               schedule::Trace& trace);

}  // namespace lathe::space
