#include "compiler/codegen/grid/thread_memory.h"

namespace lathe::codegen {
namespace {

using flat::Scope;

constexpr std::int64_t kPrivateBytes = 2048;  // of one item, in all

std::int64_t rounded_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

std::int64_t points_of(const flat::Grid& grid) {
  std::int64_t points = 1;
  for (const flat::Axis& axis : grid.axes()) points *= axis.count;
  return points;
}

}  // namespace

std::int64_t thread_bytes_of(const flat::Buffer& buffer) {
  return rounded_up(buffer.size * size_of(buffer.dtype));
}

ThreadMemory thread_memory(const flat::Program& program, const flat::Kernel& kernel) {
  ThreadMemory memory;
  memory.end = rounded_up(program.global_bytes);
  std::int64_t left = kPrivateBytes;
  for (const flat::Buffer& buffer : program.buffers) {
    const std::int64_t bytes = thread_bytes_of(buffer);
    const bool own = buffer.scope == Scope::kThread && bytes <= left;
    if (own) left -= bytes;
    memory.is_private.push_back(own ? 1 : 0);
    memory.offset.push_back(memory.end);
    if (buffer.scope == Scope::kThread && !own) memory.end += bytes * points_of(kernel.grid);
  }
  return memory;
}

}  // namespace lathe::codegen
