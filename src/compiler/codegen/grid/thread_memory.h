// Where the thread memory of a kernel on a grid lies. What is small is private to an item as the
// device has it, the rest lies in the scratch area behind the program's own: a slice for each item.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::codegen {

struct ThreadMemory {
  std::vector<char> is_private;      // by buffer
  std::vector<std::int64_t> offset;  // by buffer, in bytes: where the slices of all items begin
  std::int64_t end = 0;              // bytes of the scratch area
};
ThreadMemory thread_memory(const flat::Program& program, const flat::Kernel& kernel);

// Of the slice that one item has.
std::int64_t thread_bytes_of(const flat::Buffer& buffer);

}  // namespace lathe::codegen
