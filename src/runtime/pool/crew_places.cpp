// Where a crew's workers may run, and how many processors there are for them.
#include <cstring>

#include "runtime/pool/crew.h"

namespace lathe::pool {
namespace {

constexpr std::int64_t kLookAgain = 1'000'000;  // nanoseconds between looks

}  // namespace

cpu_set_t allowed_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

// A caller may have moved to where a worker was. Those who sleep are placed when they are woken.
void Crew::place(Slot& slot, int lanes) {
  if (!placing_ || slot.cpu.load(std::memory_order_relaxed) == sched_getcpu()) return;
  const std::int64_t now = now_ns();
  if (now - placed_ns_.load(std::memory_order_relaxed) < kLookAgain) return;
  placed_ns_.store(now, std::memory_order_relaxed);
  find_others(slot, lanes);
  for (int lane = 1; lane < lanes; ++lane)
    keep_off(workers_[slot.members[lane].load(std::memory_order_relaxed)], slot);
}

// Who confines the process later confines its workers, too. They stay in the caller's NUMA node if
// it has processors for all. A kernel may wake a worker on the caller's processor, though others
// are idle, and leave it waiting there for some milliseconds.
void Crew::find_others(Slot& slot, int lanes) {
  if (!placing_) return;
  const int cpu = sched_getcpu();
  slot.cpu.store(cpu, std::memory_order_relaxed);
  const cpu_set_t mine = allowed_processors();
  cpu_set_t others;
  CPU_AND(&others, &mine, &allowed_);
  if (const cpu_set_t* node = nodes_.of(cpu)) {
    cpu_set_t near;
    CPU_AND(&near, &others, node);
    if (CPU_COUNT(&near) >= lanes) others = near;
  }
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_CLR(static_cast<std::size_t>(cpu), &others);
  std::uint64_t words[CPU_SETSIZE / 64];
  static_assert(sizeof words == sizeof others);
  std::memcpy(words, &others, sizeof words);
  for (std::size_t i = 0; i < CPU_SETSIZE / 64; ++i)
    slot.others[i].store(words[i], std::memory_order_relaxed);
}

void Crew::keep_off(Worker& worker, const Slot& slot) {
  const int cpu = slot.cpu.load(std::memory_order_relaxed);
  if (!placing_ || worker.kept_off.exchange(cpu, std::memory_order_relaxed) == cpu) return;
  std::uint64_t words[CPU_SETSIZE / 64];
  for (std::size_t i = 0; i < CPU_SETSIZE / 64; ++i)
    words[i] = slot.others[i].load(std::memory_order_relaxed);
  cpu_set_t others;
  std::memcpy(&others, words, sizeof others);
  if (CPU_COUNT(&others) != 0) pthread_setaffinity_np(worker.thread, sizeof others, &others);
}

// A caller or a worker may be pinned by its program: what either may use counts.
void Crew::look_for_processors() {
  regions_.store(0, std::memory_order_relaxed);
  const std::int64_t now = now_ns();
  if (now - looked_ns_.exchange(now, std::memory_order_relaxed) >= kLookAgain) count_processors();
}

void Crew::count_processors() {
  cpu_set_t all = allowed_processors();
  if (started_.load(std::memory_order_acquire) > 1) {
    cpu_set_t worker;
    if (pthread_getaffinity_np(workers_[1].thread, sizeof worker, &worker) == 0)
      CPU_OR(&all, &all, &worker);
  }
  int count = CPU_COUNT(&all);
  if (count > quota_) count = quota_;
  processors_.store(count > 0 ? count : 1, std::memory_order_relaxed);
}

}  // namespace lathe::pool
