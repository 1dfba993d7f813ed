// Loops of what is neither tiled nor fused, and loops that threads share.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/target.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe::space {

// Makes loops parallel, outermost first, until every thread has about as much to do: they run as
// one. Of those that are known to be longer than that needs, blocks are shared. The last may be one
// that the steps refuse.
void share_loops(ir::Nest& nest, schedule::Trace& trace, const std::vector<std::string>& loops,
                 int threads, bool free_layout);

// Gives what is neither tiled nor fused vector lanes along the last axis of its result, and threads
// along the first. `placed`: blocks that have their schedule; it adds those that come with it.
void schedule_plainly(const te::Workload& view, const te::Stage& stage, const CpuTarget& target,
                      ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed);

}  // namespace lathe::space
