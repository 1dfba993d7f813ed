#include "host_card/block.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

#include "base/result.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace lathe::testing {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;
constexpr std::size_t kMostShared = 228 << 10;
constexpr int kWarp = 32;
constexpr std::byte kNonsense{0xff};  // a NaN, and a number that no index may be

struct Copy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes, filled;
};

enum class State { kReady, kAtBarrier, kAtExchange, kDone };

struct Thread {
  Index3 index{};
  State state = State::kReady;
  std::vector<Copy> begun;                 // of no batch yet
  std::vector<std::vector<Copy>> batches;  // not awaited yet, the oldest first
  std::uint32_t given = 0;                 // to the others of its warp
  ucontext_t context{};
  void* fake_stack = nullptr;  // the sanitizer's
};

// Stacks are kept from block to block.
class Stacks {
 public:
  std::byte* of(std::size_t thread) {
    while (stacks_.size() <= thread) {
      void* place = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      LATHE_CHECK(place != MAP_FAILED);
      stacks_.push_back(static_cast<std::byte*>(place));
    }
    return stacks_[thread];
  }

 private:
  std::vector<std::byte*> stacks_;
};

struct Block {
  Index3 index{};
  std::vector<Thread> threads;
  std::size_t current = 0;
  const std::function<void()>* body = nullptr;
  ucontext_t scheduler{};
  const void* scheduler_stack = nullptr;
  std::size_t scheduler_bytes = 0;
  void* scheduler_fake_stack = nullptr;
};

Block g_block;
Stacks g_stacks;

Thread& self() { return g_block.threads[g_block.current]; }

void before_switch([[maybe_unused]] void** fake, [[maybe_unused]] const void* stack,
                   [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#endif
}
void after_switch([[maybe_unused]] void* fake, [[maybe_unused]] const void** stack,
                  [[maybe_unused]] std::size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, stack, bytes);
#endif
}

void wait_as(State state) {
  Thread& thread = self();
  thread.state = state;
  before_switch(state == State::kDone ? nullptr : &thread.fake_stack, g_block.scheduler_stack,
                g_block.scheduler_bytes);
  swapcontext(&thread.context, &g_block.scheduler);
  after_switch(thread.fake_stack, nullptr, nullptr);
}

void enter() {
  after_switch(nullptr, &g_block.scheduler_stack, &g_block.scheduler_bytes);
  (*g_block.body)();
  wait_as(State::kDone);
}

void start(std::size_t t) {
  Thread& thread = g_block.threads[t];
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = g_stacks.of(t);
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, enter, 0);
}

void go_on(std::size_t t) {
  g_block.current = t;
  before_switch(&g_block.scheduler_fake_stack, g_stacks.of(t), kStackBytes);
  swapcontext(&g_block.scheduler, &g_block.threads[t].context);
  after_switch(g_block.scheduler_fake_stack, nullptr, nullptr);
}

bool all_in(std::size_t begin, std::size_t end, State state) {
  return std::all_of(g_block.threads.begin() + static_cast<std::ptrdiff_t>(begin),
                     g_block.threads.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](const Thread& t) { return t.state == state; });
}

void release(std::size_t begin, std::size_t end) {
  for (std::size_t t = begin; t < end; ++t) g_block.threads[t].state = State::kReady;
}

// Whoever has met goes on. False: nobody may.
bool meet() {
  const std::size_t count = g_block.threads.size();
  bool any = false;
  if (all_in(0, count, State::kAtBarrier)) {
    release(0, count);
    any = true;
  }
  for (std::size_t warp = 0; warp < count; warp += kWarp) {
    const std::size_t end = std::min(count, warp + kWarp);
    if (!all_in(warp, end, State::kAtExchange)) continue;
    release(warp, end);
    any = true;
  }
  return any;
}

std::string run_fibers(Rng& rng) {
  std::vector<std::size_t> order(g_block.threads.size());
  std::iota(order.begin(), order.end(), 0);
  for (const std::size_t t : order) start(t);
  for (;;) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    for (const std::size_t t : order)
      if (g_block.threads[t].state == State::kReady) go_on(t);
    if (all_in(0, order.size(), State::kDone)) return "";
    if (!meet()) return "threads of a block wait for others that wait elsewhere, or are done";
  }
}

alignas(64) std::byte g_shared[kMostShared];

extern "C" {
std::int32_t lathe_host_thread_x() { return static_cast<std::int32_t>(self().index[0]); }
std::int32_t lathe_host_thread_y() { return static_cast<std::int32_t>(self().index[1]); }
std::int32_t lathe_host_thread_z() { return static_cast<std::int32_t>(self().index[2]); }
std::int32_t lathe_host_block_x() { return static_cast<std::int32_t>(g_block.index[0]); }
std::int32_t lathe_host_block_y() { return static_cast<std::int32_t>(g_block.index[1]); }
std::int32_t lathe_host_block_z() { return static_cast<std::int32_t>(g_block.index[2]); }

void lathe_host_barrier() { wait_as(State::kAtBarrier); }

// All of a warp have given before any of them goes on, and none gives again before all have taken:
// they meet twice.
std::int32_t lathe_host_exchange(std::int32_t, std::int32_t value, std::int32_t mask,
                                 std::int32_t) {
  self().given = static_cast<std::uint32_t>(value);
  wait_as(State::kAtExchange);
  const std::size_t from = g_block.current ^ static_cast<std::size_t>(mask);
  const std::uint32_t taken = from < g_block.threads.size() ? g_block.threads[from].given : 0;
  wait_as(State::kAtExchange);
  return static_cast<std::int32_t>(taken);
}

void lathe_host_copy(std::byte* to, const std::byte* from, std::int32_t bytes,
                     std::int32_t filled) {
  const auto size = static_cast<std::size_t>(bytes);
  std::memset(to, static_cast<int>(kNonsense), size);
  self().begun.push_back({to, from, size, static_cast<std::size_t>(filled)});
}
void lathe_host_commit() {
  self().batches.push_back(std::move(self().begun));
  self().begun.clear();
}
void lathe_host_await(std::int32_t pending) {
  auto& batches = self().batches;
  while (batches.size() > static_cast<std::size_t>(pending)) {
    for (const Copy& copy : batches.front()) {
      std::memset(copy.to, 0, copy.bytes);
      std::memcpy(copy.to, copy.from, copy.filled);
    }
    batches.erase(batches.begin());
  }
}
}

template <class F>
HostFunction entry(const char* name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

std::span<const HostFunction> host_functions() {
  static const HostFunction all[] = {entry("lathe_host_thread_x", lathe_host_thread_x),
                                     entry("lathe_host_thread_y", lathe_host_thread_y),
                                     entry("lathe_host_thread_z", lathe_host_thread_z),
                                     entry("lathe_host_block_x", lathe_host_block_x),
                                     entry("lathe_host_block_y", lathe_host_block_y),
                                     entry("lathe_host_block_z", lathe_host_block_z),
                                     entry("lathe_host_barrier", lathe_host_barrier),
                                     entry("lathe_host_exchange", lathe_host_exchange),
                                     entry("lathe_host_copy", lathe_host_copy),
                                     entry("lathe_host_commit", lathe_host_commit),
                                     entry("lathe_host_await", lathe_host_await),
                                     {"lathe_group", g_shared}};
  return all;
}

void begin_shared_memory(std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(g_shared, kMostShared);
#endif
  LATHE_CHECK(bytes <= kMostShared, "a launch asks for {} bytes of shared memory", bytes);
  std::memset(g_shared, static_cast<int>(kNonsense), bytes);
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(g_shared + bytes, kMostShared - bytes);
#endif
}

std::string run_block(const std::function<void()>& body, const Index3& block, const Index3& threads,
                      bool fibers, Rng& rng) {
  const auto count = static_cast<std::size_t>(threads[0] * threads[1] * threads[2]);
  g_block.index = block;
  g_block.body = &body;
  g_block.threads.assign(count, Thread{});
  for (std::size_t t = 0; t < count; ++t) {
    const auto number = static_cast<std::int64_t>(t);
    g_block.threads[t].index = {number % threads[0], number / threads[0] % threads[1],
                                number / threads[0] / threads[1]};
  }
  if (fibers) return run_fibers(rng);
  const std::size_t first = rng.below(count);
  for (std::size_t t = 0; t < count; ++t) {
    g_block.current = (first + t) % count;
    body();
  }
  return "";
}

}  // namespace lathe::testing
