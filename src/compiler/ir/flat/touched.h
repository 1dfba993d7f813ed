// Which buffers a kernel touches.
#pragma once

#include <set>

#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

// That it loads, stores, copies or prefetches.
std::set<int> touched_buffers(const Kernel& kernel);
// Of these kernels of the program.
std::set<int> touched_buffers(const Program& program, const std::vector<int>& kernels);
// The bytes of the area of constants up to the end of what run reads.
std::int64_t read_constant_bytes(const Program& program);

}  // namespace lathe::flat
