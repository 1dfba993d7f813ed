// What an exported library has of the pool, as one of several in a process (one_crew_test.cpp).
#include "runtime/pool/pool.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void run_phases(const lathe_phase* phases, long count, void* context, int threads) {
  lathe::pool::Pool({.threads = threads}).run_region(phases, count, context);
}
