// How the threads of a flat program share its work, told without running it.
//
// Thread t of T runs the iterations count*t/T ... count*(t+1)/T - 1 of a phase, as the pool gives
// them out; here they are the phase's parts. The work of each part is counted as its own bounds and
// conditions have it, so that tails and edges are as uneven as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/sharing/work.h"

namespace lathe::sharing {

// What several parts of a phase do alike, where one would do: it is done once in `runs` and again
// in others.
struct Repeats {
  // Elements of other buffers that parts only copy: each counts once for each part.
  std::int64_t copied_bytes = 0, copied_again_bytes = 0;
  // Work of parts on intermediate results that another part has computed too.
  Work computed_again;

  Repeats& operator+=(const Repeats& other);
  friend Repeats operator*(Repeats repeats, std::int64_t times);
};

struct Phase {
  int region = 1, number = 1;  // counted from 1: the kernel's region, and the phase in it
  std::string loop;            // the name of its variable
  std::int64_t runs = 0;       // a region in a loop runs several times
  // In the run with the most of them.
  std::int64_t parts = 0;
  int threads = 0;  // that have a part
  Work all;         // of all runs
  // Of the thread that does most, for each kind of work, summed up over the runs.
  Work busiest;
  Repeats repeats;
};

// What a phase's work is measured in.
enum class Unit {
  kOperations,
  kBytes,  // where it multiplies and adds nothing, and moves more vectors than it computes
};
const char* name_of(Unit unit);  // "operations", "bytes"

struct KernelWork {
  std::string name;
  bool prepares = false;
  std::vector<Phase> phases;
  Work alone;                 // outside regions, by the caller
  std::int64_t barriers = 0;  // that the threads meet at, in one execution
};

struct Sharing {
  int threads = 1;       // that run the program
  int vector_bytes = 0;  // of a register
  std::vector<KernelWork> kernels;
};

// All of prepare(), or of a call. Work is in operations, of phases that are measured in bytes in
// registers moved, so that it adds up.
struct Totals {
  int threads = 1;               // with a part in the phase that has most of them
  double work = 0, busiest = 0;  // busiest: the sum over the phases
  double share = 1;              // see share_of(), the mean of the phases weighted by their work
  double share_of_offered = 1;   // the same by all threads that run the program
  std::int64_t barriers = 0;
  std::int64_t multiply_adds = 0;
  Repeats repeats;
};

// Threads: 1 to kMostThreads. vector_bytes: of the target's registers. Fails (kUnsupported) if what
// a program does depends on its data, which lowering never makes.
Result<Sharing> sharing_of(const flat::Program& program, int threads, int vector_bytes = 64);

Unit unit_of(const Work& work, int vector_bytes);
// In that unit.
std::int64_t amount_of(const Work& work, Unit unit);
// The work of all over that of as many threads as the busiest: 1 where it is even, 0.5 where half
// of the threads' time is spent waiting.
double share_of(const Phase& phase, int threads, int vector_bytes);
Totals totals_of(const Sharing& sharing, bool prepares);

}  // namespace lathe::sharing
