// Programs on grids that show how fast a device computes, and how fast it moves memory.
#pragma once

#include <cstdint>

#include "base/target.h"
#include "tuner/measure/device.h"

namespace lathe::measure {

// Multiply-adds in registers, of as many items as fill a device.
PeakKernel grid_peak_kernel(const Target& target);
// Each item reads or writes vectors, or both; bytes are rounded up to what all items move.
flat::Program grid_stream_kernel(const Target& target, std::int64_t read_bytes,
                                 std::int64_t written_bytes);

}  // namespace lathe::measure
