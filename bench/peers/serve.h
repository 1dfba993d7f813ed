// The line protocol with which a benchmark drives a contestant (docs/benchmarks.md). Between turns
// a contestant waits for its standard input, so that it takes no time from the others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace lathe::bench {

// A computation that is ready to run: its inputs are filled, and its weights are packed.
struct Contender {
  std::function<void()> run;  // runs it once; it is complete on return
  std::string detail;         // which implementation the library chose
};

using Setup = std::function<Result<Contender>(const Json& workload)>;

// Serves "setup JSON", "run SECONDS" and "quit" until the input ends.
int serve(const Setup& setup);

// Uniform in [-1, 1], and the same every time.
std::vector<float> random_floats(std::size_t count, std::uint64_t seed);

// Aligned to 64 bytes and filled with random_floats().
std::shared_ptr<float[]> random_buffer(std::size_t count, std::uint64_t seed);

}  // namespace lathe::bench
