// Programs of a model that fit into memory together.
#pragma once

#include <cstdint>
#include <string>

#include "api/model.h"

namespace lathe::api {

// What a handle of the program needs: the areas of constants and scratch, those of all threads, and
// weights that run reads where they lie.
struct MemoryNeed {
  std::int64_t constants = 0;  // packed, and read as they are
  std::int64_t scratch = 0;    // the arena and the areas of threads
  std::int64_t bytes() const { return constants + scratch; }
};
MemoryNeed memory_of(const flat::Program& program, int threads);

struct MemoryRequest {
  std::int64_t most = 0;     // bytes
  ScheduleRequest schedule;  // whose database may have other programs
};

// Chosen so that the model needs no more than that.
struct WithinMemory {
  ScheduleSource source;
  int tasks = 0;
  int exchanged = 0;  // tasks that do not have the program that the model would choose
  double slower = 0;  // the share of time by which that is slower, by records and models
};

// `source` chooses first. Where that needs too much, other programs of some tasks take their place:
// of records, the default without algorithms that transform weights, those that pack in every run
// or not at all. Those come first that save most for the time that they lose. kOutOfMemory: even
// the least needs more, and the error says how much that is.
Result<WithinMemory> within_memory(const graph::Graph& graph, const ScheduleSource& source,
                                   const Target& target, const MemoryRequest& request,
                                   const ModelProgress& progress);

}  // namespace lathe::api
