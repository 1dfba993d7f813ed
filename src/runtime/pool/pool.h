// A thread pool for parallel loops of a few microseconds. Needs libc only: the exported artifact
// contains it.
//
// Workers wait for a loop by spinning for some tens of microseconds, then sleep on a futex, so
// loops that follow each other start in well under a microsecond and an idle pool costs nothing.
// Iterations are cut into one contiguous slice a thread, always the same one, so that a worker
// finds its data in its own cache again; the caller runs slice 0.
//
// A forked child may use and destroy the pool of its parent: its first loop there starts threads of
// its own.
#pragma once

#include <cstdint>

#include "runtime/module/abi.h"

namespace lathe::pool {

struct Options {
  int threads = 1;  // the caller included
  // thread t is pinned to cpus[t]; null: not pinned. The caller pins itself
  const int* cpus = nullptr;
  // before sleeping; none is spun where there are more threads than processors
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
  // Runs body over [0, count) and returns when all is done. One caller at a time; a body must not
  // call this again.
  void parallel_for(std::int64_t count, lathe_body body, void* context);
  // The table generated code gets; valid while the pool lives.
  const lathe_runtime* runtime() const { return &runtime_; }

 private:
  struct State;
  State* state_;
  lathe_runtime runtime_;
};

}  // namespace lathe::pool
