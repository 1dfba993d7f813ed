#include "runtime/module/caches.h"

namespace lathe::module {
namespace {

constexpr std::int64_t kLine = 64;

// Visits a byte of each line, wherever in a line the areas begin and end.
template <class Visitor>
void each_line(std::span<const Area> areas, const Visitor& visit) {
  for (const Area& area : areas) {
    const auto* at = static_cast<const char*>(area.data);
    for (std::int64_t i = 0; i < area.bytes; i += kLine) visit(at + i);
    if (area.bytes > 0) visit(at + area.bytes - 1);
  }
}

void flush(const char* at) {
#if defined(__x86_64__)
  asm volatile("clflush %0" : : "m"(*at));
#elif defined(__aarch64__)
  asm volatile("dc civac, %0" : : "r"(at) : "memory");
#else
#error "cold caches need a cache line flush of this machine"
#endif
}

void wait_for_flushes() {
#if defined(__x86_64__)
  asm volatile("mfence" : : : "memory");
#else
  asm volatile("dsb ish" : : : "memory");
#endif
}

}  // namespace

void make_cold(std::span<const Area> areas) {
  each_line(areas, flush);
  wait_for_flushes();
}

void make_warm(std::span<const Area> areas) {
  each_line(areas,
            [](const char* at) { static_cast<void>(*static_cast<const volatile char*>(at)); });
}

}  // namespace lathe::module
