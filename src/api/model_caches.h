// What the nodes of a model find in the caches. Between two calls of one node all others run: where
// the model's constants exceed the last cache, each node's come from memory. Programs for it are
// timed so (CacheMode::kFar): what is fast with its weights in a cache may be slow without, as an
// algorithm that multiplies less and reads more.
#pragma once

#include "api/schedules.h"
#include "graph/ir/graph.h"

namespace lathe::api {

CacheMode caches_of(const graph::Graph& graph, const Target& target);

// The schedules that are asked for, for nodes of this model: of those on record the best that was
// timed with such caches; where there is none, the best with warm ones.
Result<ScheduleSource> node_schedules(const graph::Graph& graph, ScheduleRequest request,
                                      const Target& target);

}  // namespace lathe::api
