#include "runtime/runner/caches.h"

#include <cstddef>

namespace lathe::runner {
namespace {

constexpr std::int64_t kLine = 64;

}  // namespace

void flush_from_caches(const void* data, std::int64_t bytes) {
  const auto* at = static_cast<const char*>(data);
  for (std::int64_t i = 0; i < bytes; i += kLine) {
#if defined(__x86_64__)
    asm volatile("clflush %0" : : "m"(at[i]));
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" : : "r"(at + i) : "memory");
#else
#error "cold caches need a cache line flush of this machine"
#endif
  }
}

void flush_fence() {
#if defined(__x86_64__)
  asm volatile("mfence" : : : "memory");
#else
  asm volatile("dsb ish" : : : "memory");
#endif
}

void bring_into_caches(const void* data, std::int64_t bytes) {
  const auto* at = static_cast<const volatile char*>(data);
  for (std::int64_t i = 0; i < bytes; i += kLine) static_cast<void>(at[i]);
}

}  // namespace lathe::runner
