// The threads of one block, as fibers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/rng.h"

namespace lathe::testing {

using Index3 = std::array<std::int64_t, 3>;

// Runs `body` for each thread of a block, in an order that `rng` draws anew whenever they go on.
// Says what is wrong; empty: nothing is. `fibers`: threads may wait for each other.
std::string run_block(const std::function<void()>& body, const Index3& block, const Index3& threads,
                      bool fibers, Rng& rng);

// The shared memory of the block that runs: so many bytes of it exist, and hold nonsense.
void begin_shared_memory(std::size_t bytes);

// What modules call, by name.
struct HostFunction {
  const char* name;
  void* address;
};
std::span<const HostFunction> host_functions();

}  // namespace lathe::testing
