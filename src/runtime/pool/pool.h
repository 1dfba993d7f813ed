// Parallel loops of a few microseconds, as generated code and others ask for them. It needs libc
// only, for exported artifacts contain it.
//
// By default all pools of a process share one crew of threads (one_crew.h), with no more threads
// than there are processors. A pool with pinned threads, or with a spin of its own, has a crew of
// its own (crew.h). Regions and their phases: region.h.
#pragma once

#include <cstdint>

#include "runtime/module/abi.h"

namespace lathe::pool {

class Crew;

struct Options {
  int threads = 1;  // the caller included
  // Thread t of a crew of its own is pinned to cpus[t]; null: none is. The caller pins itself.
  const int* cpus = nullptr;
  // How long threads of a crew of its own spin before they sleep. They do not spin where there are
  // more threads than processors. Negative: the process's crew.
  std::int64_t spin_ns = -1;
};

class Pool {
 public:
  explicit Pool(const Options& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Worker numbers are below it. Regions may have fewer threads.
  int threads() const { return threads_; }
  // Threads that a region would have now, if no other caller is in one: fewer where the system gave
  // no more, or the process may use fewer processors.
  int threads_now() const;
  // Runs the phases in turn and returns when all is done. Several callers may use it, each with
  // memory of its own for its workers. A body must not call it again.
  void run_region(const lathe_phase* phases, std::int64_t count, void* context);
  // A region of one phase.
  void parallel_for(std::int64_t count, lathe_body body, void* context);
  // What generated code gets; valid while the pool lives.
  const lathe_runtime* runtime() const { return &runtime_; }

 private:
  int threads_;          // at most
  Crew* own_ = nullptr;  // null: the process's is used
  lathe_runtime runtime_;
};

}  // namespace lathe::pool
