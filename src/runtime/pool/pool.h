// A thread pool for parallel loops of a few microseconds. It needs libc only, for exported
// artifacts contain it.
//
// Workers wait for a loop by spinning for some tens of microseconds, then sleep on a futex. So
// loops that follow each other start in well under a microsecond, and an idle pool costs nothing.
// Iterations are cut into one contiguous slice for each thread, always the same one, so that a
// worker finds its data in its own cache again. The caller runs slice 0, then those of workers that
// have not begun: so a loop takes hardly longer than with one thread where a worker is asleep or
// has no processor, and the caller never waits for one to wake up. Workers keep off the caller's
// processor, for some kernels wake them there and leave them waiting for a time slice.
//
// A region's phases follow each other without the caller in between: each thread goes from its
// slice of one to its slice of the next as soon as all threads have finished the one before.
//
// A forked child may use and destroy its parent's pool: the first loop there starts threads of its
// own.
#pragma once

#include <cstdint>

#include "runtime/module/abi.h"

namespace lathe::pool {

struct Options {
  int threads = 1;  // the caller included
  // Thread t is pinned to cpus[t]; null: none is. The caller pins itself.
  const int* cpus = nullptr;
  // How long workers spin before they sleep. They do not spin where there are more threads than
  // processors.
  std::int64_t spin_ns = 50'000;
};

class Pool {
 public:
  explicit Pool(const Options& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // May be fewer than asked for, where the system gave no more.
  int threads() const;
  // Runs the phases in turn and returns when all is done. Only one caller at a time may use it, and
  // a body must not call it again.
  void run_region(const lathe_phase* phases, std::int64_t count, void* context);
  // A region of one phase.
  void parallel_for(std::int64_t count, lathe_body body, void* context);
  // What generated code gets; valid while the pool lives.
  const lathe_runtime* runtime() const { return &runtime_; }

 private:
  struct State;
  State* state_;
  lathe_runtime runtime_;
};

}  // namespace lathe::pool
