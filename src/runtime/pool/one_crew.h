// One crew in a process, whatever number of exported libraries and versions of this code it has
// loaded, and however: linked statically, opened with RTLD_LOCAL, or closed again. Libc only.
//
// They find each other by a page at an address that all of them know. Only one of them can map it,
// for the kernel refuses to map it twice; it holds which crew there is and how to call it. The
// kernel empties it in a forked child, which so begins with no crew.
//
// Where a library is unloaded whose code the threads run, they are ended first; whoever comes next
// makes a crew of its own. Where no page can be had (Linux before 4.17, or all known addresses are
// in use), each library has a crew of its own.
#pragma once

#include <cstdint>

#include "runtime/module/abi.h"

namespace lathe::pool {

// Runs a region on the crew of this process: with at most so many threads, the caller included, and
// no more than there are processors for. LATHE_PIN_THREADS=1 in the environment pins workers.
void run_on_the_crew(const lathe_phase* phases, std::int64_t count, void* context, int threads);

// How many threads a region of so many threads would have now, if no other caller is in one.
int threads_of_the_crew(int threads);

}  // namespace lathe::pool
