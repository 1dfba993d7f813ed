// Buffers of a flat program: their sizes, and where they lie.
#include "compiler/ir/flat/verify_buffers.h"

#include <vector>

namespace lathe::flat {
namespace {

Status verify_border(const Buffer& b, const std::vector<Border>& borders, const char* what) {
  if (b.slot < 0 || b.slot >= static_cast<std::int64_t>(borders.size()))
    return fail(ErrorKind::kInternal, "buffer {} is {} {} of {}", b.name, what, b.slot,
                borders.size());
  const Border& border = borders[static_cast<std::size_t>(b.slot)];
  if (border.dtype != b.dtype || border.size != b.size)
    return fail(ErrorKind::kInternal, "buffer {} is {}[{}], but {} {} is {}[{}]", b.name,
                name_of(b.dtype), b.size, what, b.slot, name_of(border.dtype), border.size);
  return {};
}

Status verify_area(const Buffer& b, std::int64_t bytes, const char* what) {
  const std::int64_t end = b.slot + b.size * size_of(b.dtype);
  if (b.slot < 0 || end > bytes)
    return fail(ErrorKind::kInternal, "buffer {} takes bytes {} to {} of {} {} bytes", b.name,
                b.slot, end, bytes, what);
  if (b.slot % size_of(b.dtype) != 0)
    return fail(ErrorKind::kInternal, "buffer {} starts at byte {}, which does not align {}",
                b.name, b.slot, name_of(b.dtype));
  return {};
}

}  // namespace

Status verify_buffer(const Program& program, const Buffer& b) {
  if (b.size < 0) return fail(ErrorKind::kInternal, "buffer {} has {} elements", b.name, b.size);
  switch (b.scope) {
    case Scope::kInput: return verify_border(b, program.inputs, "input");
    case Scope::kOutput: return verify_border(b, program.outputs, "output");
    case Scope::kConstant: return verify_area(b, program.constant_bytes, "constant");
    case Scope::kGlobal: return verify_area(b, program.global_bytes, "global");
    case Scope::kShared: return verify_area(b, program.shared_bytes, "shared");
    case Scope::kThread: return verify_area(b, program.thread_bytes, "thread");
    case Scope::kGroup: return verify_area(b, program.group_bytes, "group");
    case Scope::kLiteral: break;
  }
  if (static_cast<std::int64_t>(b.literal.bytes.size()) != b.size * size_of(b.dtype))
    return fail(ErrorKind::kInternal, "literal {} has {} bytes for {} elements of {}", b.name,
                b.literal.bytes.size(), b.size, name_of(b.dtype));
  return {};
}

}  // namespace lathe::flat
