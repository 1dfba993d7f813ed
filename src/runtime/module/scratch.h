// Memory for a module's constants and scratch, in huge pages where it is large. A call reads packed
// weights of some megabytes in one pass; with pages of 4 KiB, translating addresses would cost
// several percent of its time.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace lathe::module {

constexpr std::int64_t kScratchAlignment = 64;
constexpr std::int64_t kHugePage = 2 << 20;

// Asks for huge pages where they are not the default. `begin` should be a huge page's boundary.
inline void prefer_huge_pages(void* begin, std::int64_t bytes) {
  if (bytes >= kHugePage) ::madvise(begin, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
}

// At least `bytes`, 64-byte aligned; null if there is no memory. Free it with std::free.
inline void* allocate_scratch(std::int64_t bytes) {
  const std::int64_t alignment = bytes >= kHugePage ? kHugePage : kScratchAlignment;
  const std::int64_t size = (bytes + alignment) / alignment * alignment;
  void* memory =
      std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(size));
  if (memory != nullptr) prefer_huge_pages(memory, size);
  return memory;
}

}  // namespace lathe::module
