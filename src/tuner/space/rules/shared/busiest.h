// How even the parts are that threads share.
#pragma once

#include <cstdint>
#include <span>

namespace lathe::space {

// Of loops that are shared together: so many things in blocks of so many, the last one smaller.
struct SharedAxis {
  std::int64_t count = 1, block = 1;

  std::int64_t parts() const { return (count + block - 1) / block; }
};

// The parts of all these together.
std::int64_t parts_of(std::span<const SharedAxis> axes);
// The work of the busiest of so many threads as a share of all: each gets parts that follow each
// other, of loops that are named from outside in (Pool).
double busiest_share(std::span<const SharedAxis> axes, int threads);

}  // namespace lathe::space
