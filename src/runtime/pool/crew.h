// The threads that run regions: workers, and the callers who join them for a region. It needs libc
// only, for exported artifacts contain it.
//
// Workers wait for a region by spinning for some tens of microseconds, then sleep on a futex. So
// regions that follow each other start in well under a microsecond, and idle workers cost nothing.
// A caller takes workers that nobody has, as many as it wants if there are so many, and works in
// lane 0 itself: so several callers get workers of their own, and a caller whose workers are asleep
// or have no processor does their work (region.h). It wakes one worker at most; those who come wake
// the others.
//
// Workers keep off their caller's processor, for some kernels wake them there and leave them
// waiting for a time slice.
//
// A forked child may use and destroy its parent's crew: the first region there starts threads of
// its own.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>

#include "runtime/module/abi.h"
#include "runtime/pool/process_mark.h"
#include "runtime/pool/processors.h"
#include "runtime/pool/region.h"
#include "runtime/pool/waiting.h"

namespace lathe::pool {

struct CrewOptions {
  int most_threads = 1;       // callers included, where there is one at a time; up to kMostThreads
  const int* cpus = nullptr;  // worker t is pinned to cpus[t], 1 <= t; null: none is
  std::int64_t spin_ns = 0;   // how long threads spin before they sleep
  bool within_processors = false;  // no more threads than processors that the process may use now
};

constexpr std::int64_t kSpin = 50'000;  // nanoseconds

// Processors that this thread may use.
cpu_set_t allowed_processors();

// Runs phases on this thread.
void run_alone(const lathe_phase* phases, std::int64_t count, void* context);

class Crew {
 public:
  static constexpr int kMostThreads = 1024;

  // Null: there is no memory. It starts no threads yet.
  static Crew* make(const CrewOptions& options);
  // No caller may be in it. In a forked child of the process that used it, threads are left alone.
  static void destroy(Crew* crew);

  // Starts workers until there are enough for so many threads, the caller included; how many there
  // are. They may be fewer than asked for, where the system gives no more.
  int start(int threads);
  // How many threads a region of so many would have now, if no other caller is in one.
  int threads(int threads);
  // Runs the phases in turn and returns when all is done. A body must not call it again with the
  // same worker's memory: its worker number is below `threads`, and no two that run at a time are
  // the same. Any number of callers at a time.
  void run(const lathe_phase* phases, std::int64_t count, void* context, int threads);

 private:
  static constexpr int kSlots = 64;  // regions at a time; who finds no slot works alone
  static constexpr int kWords = kMostThreads / 64;

  struct alignas(64) Worker {
    Number mail;  // where it is wanted: Mail
    Word asleep;
    Crew* crew;
    int cpu;                    // it is pinned to; -1: to none
    std::atomic<int> kept_off;  // processor of its caller
    pthread_t thread;
  };
  struct Mail {
    std::uint64_t region;  // 48 bits
    unsigned slot, lane;   // 6 and 10 bits
    static Mail of(std::uint64_t word) {
      return {word >> 16, static_cast<unsigned>(word >> 10) & 63,
              static_cast<unsigned>(word) & 1023};
    }
    std::uint64_t word() const { return region << 16 | std::uint64_t{slot} << 10 | lane; }
  };
  struct alignas(64) Slot {
    Region* region;                                    // null: not yet made
    std::atomic<int> cpu;                              // the caller's
    Number others[CPU_SETSIZE / 64];                   // processors where its workers may run
    Number to_wake[kWords];                            // lanes whose workers are asleep
    std::atomic<std::uint16_t> members[kMostThreads];  // worker of each lane, 1 ...
  };

  // How long one thread takes for a region, by the code of its first phase.
  struct Known {
    std::atomic<lathe_body> body;
    std::atomic<std::int64_t> alone_ns;
    std::atomic<unsigned> helped;  // times that others helped and it was done soon all the same
  };
  static constexpr std::size_t kKnown = 64;
  Known& known_of(lathe_body body);

  explicit Crew(const CrewOptions& options, Worker* workers);
  void run_phases(const lathe_phase* phases, int count, void* context, int lanes);
  int take_slot();
  int take_workers(int wanted, std::uint16_t* taken);
  void release(const std::uint16_t* workers, int count);
  Region* region_of(Slot& slot);
  bool share(const lathe_phase* phases, int count, void* context, int lanes, std::int64_t worth);
  std::int64_t worth_waking(std::int64_t pause) const;
  bool call(Slot& slot, unsigned number, const std::uint16_t* taken, int lanes,
            std::uint64_t region);
  void wake(Slot& slot, int most);
  void place(Slot& slot, int lanes);
  void find_others(Slot& slot, int lanes);
  void keep_off(Worker& worker, const Slot& slot);
  void look_for_processors();
  void count_processors();
  void look_for_fork();
  void work(Worker& worker);
  static void* thread_main(void* worker);
  void lock();
  void unlock();

  const int most_threads_;
  const bool within_processors_, placing_;
  const std::int64_t spin_ns_;
  Worker* const workers_;  // [0] is unused
  cpu_set_t allowed_;      // processors of who made the crew
  ProcessMark home_;       // where the threads run
  Nodes nodes_;
  std::atomic<int> processors_{1};  // that the process may use
  int quota_ = kNoQuota;
  std::atomic<std::int64_t> looked_ns_{0}, placed_ns_{0};
  std::atomic<std::int64_t> refused_ns_{-2'000'000'000};  // when the system gave no thread
  Word regions_{0};                                       // since processors were counted
  Word locked_{0};
  std::atomic<int> started_{1};  // threads, with one caller
  std::atomic<bool> stop_{false};
  Known known_[kKnown]{};
  std::atomic<std::int64_t> ended_ns_{0};   // when a region ended that began with all asleep
  alignas(64) std::atomic<int> asleep_{0};  // workers
  alignas(64) Number free_workers_[kWords]{};
  alignas(64) Number free_slots_{0};
  Slot slots_[kSlots]{};
};

}  // namespace lathe::pool
