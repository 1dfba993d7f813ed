// What a program for cards reads by less than 16 bytes at a time, although it could read 16.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::testing {

// The names of tensors, sorted, of which a kernel reads by less than 16 bytes at a time, and always
// so that neighbouring threads of a warp read neighbouring elements that together are 16 bytes at a
// multiple of 16, or one thread a masked vector whose lanes are all wanted or none. Blocks, warps
// and iterations are drawn from a seed. What runs once, to prepare, does not count.
std::vector<std::string> narrow_reads(const flat::Program& program);

}  // namespace lathe::testing
