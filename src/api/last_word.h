// What is fastest alone need not be fastest in a model: kernels share caches. So the model has the
// last word on the best programs of its tasks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/schedules.h"
#include "api/time_shares.h"
#include "graph/ir/graph.h"

namespace lathe::api {

struct Exchange {
  std::string workload;  // key of the task
  double gain = 0;       // the share of the model's time that it saved
};

struct LastWord {
  double before = 0, after = 0;  // seconds of the whole, nodes called one by one; 0: not timed
  std::vector<Exchange> exchanges;
  int tried = 0;
};

struct LastWordRequest {
  Target target;
  CacheMode cache_mode = CacheMode::kWarm;
  double seconds = 5;  // at least half of them are for exchanges, however long it takes to begin
  std::function<bool()> stop;
  Clock clock = seconds_now;
};

// Exchanges the best programs of each task, those with most time first, in the running whole, and
// keeps what makes it faster. What was chosen is in the store, for source_of_model().
Result<LastWord> have_last_word(const graph::Graph& graph, store::Store& store,
                                const LastWordRequest& request);

// The source, but for tasks of which the model chose another program than the best on record. A
// choice ends where a better record has come since.
Result<ScheduleSource> source_of_model(const graph::Graph& graph, const ScheduleRequest& request,
                                       const Target& target);

}  // namespace lathe::api
