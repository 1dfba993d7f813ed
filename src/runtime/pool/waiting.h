// How threads wait for each other: by looking again and again for a while, then asleep. Libc only.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace lathe::pool {

using Word = std::atomic<std::uint32_t>;
using Number = std::atomic<std::uint64_t>;
static_assert(sizeof(Word) == 4 && sizeof(Number) == 8, "a futex word has 32 bits");

constexpr int kEveryone = 0x7fffffff;

inline std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline void futex_wait(const void* word, std::uint32_t seen) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
inline void futex_wake(const void* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// The half of a number that changes first: what a futex looks at.
inline const void* low_half(const Number& number) {
  constexpr int kHalf = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 1;
  return reinterpret_cast<const char*>(&number) + 4 * kHalf;
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks until done() or until the time is up; true: done() came first. It does not offer its
// processor to others meanwhile: beside busy processes they would keep it for milliseconds.
template <class Done>
bool spin(std::int64_t spin_ns, const Done& done) {
  if (done()) return true;
  if (spin_ns <= 0) return false;
  const std::int64_t end = now_ns() + spin_ns;
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      if (done()) return true;
    }
  } while (now_ns() < end);
  return false;
}

// Sleeps until the number is no longer `seen`. `sleepers` counts who sleeps, so that whoever
// changes the number knows whether to wake anybody.
inline void sleep_until_changed(const Number& number, std::uint64_t seen, Word& sleepers) {
  // A sleeper counts itself, then looks (in the kernel, too) whether the number has changed; who
  // changes it looks for sleepers afterwards: so at least one side sees the other.
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (number.load(std::memory_order_seq_cst) == seen)
    futex_wait(low_half(number), static_cast<std::uint32_t>(seen));
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

// True: the number changed while this thread looked.
inline bool spin_until_changed(const Number& number, std::uint64_t seen, std::int64_t spin_ns) {
  return spin(spin_ns, [&] { return number.load(std::memory_order_acquire) != seen; });
}

}  // namespace lathe::pool
