// A kernel that does nothing but read and write: it shows what the memory gives.
#pragma once

#include <cstdint>

#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::measure::cpu {

// Reads an input "x" and writes an output "y" of f32 numbers, once each, with reads and writes
// mixed. Each thread has a contiguous part. The sizes are rounded up to whole vectors for each
// thread.
flat::Program stream_kernel(const CpuTarget& target, std::int64_t read_bytes,
                            std::int64_t written_bytes);

}  // namespace lathe::measure::cpu
