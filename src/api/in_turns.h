// What the threads of a program would take on as many processors, found on one: each thread's slice
// of each phase runs alone, one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "api/loaded_program.h"

namespace lathe::api {

// A phase of the program's code. Seconds are those of one call, summed up over the regions that run
// it; each is made of medians of single slices.
struct PhaseTurns {
  int region = 1, number = 1;    // from 1, in the order in which a call comes to them
  std::int64_t runs = 0;         // in a call
  std::int64_t parts = 0;        // iterations, in the run with the most of them
  int threads = 0;               // that have some of them
  double slowest = 0, mean = 0;  // of the slices of all threads; one without iterations takes 0
};

struct InTurns {
  std::vector<PhaseTurns> phases;
  double alone = 0;    // seconds outside regions
  double seconds = 0;  // of a call: alone, and the slowest slice of each phase
  double all = 0;      // of a call: alone, and all slices
  int calls = 0;       // that were timed
};

// Of calls of the program on one processor, as many as fit into `seconds`, five at the least. What
// threads do to each other is not in these times: shared caches, memory, clocks, barriers; and
// their slices find in the caches what the ones before have left. `threads`: the target's.
InTurns time_in_turns(LoadedProgram& program, int threads, double seconds);

}  // namespace lathe::api
