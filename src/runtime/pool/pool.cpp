#include "runtime/pool/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <new>

namespace lathe::pool {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4, "a futex word has 32 bits");

void futex_wait(Word& word, std::uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr,
          nullptr, 0);
}
void futex_wake_all(Word& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 0x7fffffff,
          nullptr, nullptr, 0);
}

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

// Spins until done() or until the time is up; true: done() came first.
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

// Tells the process that set it from a child that was forked later, without a system call: the
// kernel empties its page in the child. A kernel that cannot do this (before Linux 4.14) is asked
// for the process's number instead. So are emulators that accept any advice and follow none; they
// give themselves away by accepting nonsense.
class ProcessMark {
 public:
  ProcessMark() {
    void* page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    constexpr int kNonsense = -1;
    if (madvise(page, kBytes, kNonsense) != 0 && madvise(page, kBytes, MADV_WIPEONFORK) == 0)
      page_ = static_cast<volatile char*>(page);
    else munmap(page, kBytes);
  }
  ~ProcessMark() {
    if (page_ != nullptr) munmap(const_cast<char*>(page_), kBytes);
  }
  ProcessMark(const ProcessMark&) = delete;
  ProcessMark& operator=(const ProcessMark&) = delete;

  void set() {
    process_ = getpid();
    if (page_ != nullptr) *page_ = 1;
  }
  bool here() const { return page_ != nullptr ? *page_ != 0 : getpid() == process_; }

 private:
  static constexpr std::size_t kBytes = 1;  // the kernel rounds up to a page
  volatile char* page_ = nullptr;
  pid_t process_ = 0;
};

}  // namespace

struct Pool::State {
  struct Worker {
    State* state;
    int index;  // 1 ... threads-1
    int cpu;    // it is pinned to; -1: to none
    pthread_t thread;
  };

  int threads = 1;  // threads that run, the caller included
  int wanted = 1;   // threads that were asked for
  // Marks the process where the threads run: a forked child has this memory, but only its own
  // thread.
  ProcessMark home;
  std::int64_t spin_ns = 0;
  Worker* workers = nullptr;

  // The region of the current epoch. The caller writes it while no worker runs, and publishes it by
  // `epoch`.
  const lathe_phase* phases = nullptr;
  std::int64_t phase_count = 0;
  void* context = nullptr;
  bool stop = false;

  alignas(64) Word epoch{0};    // workers wait for it to change
  Word sleepers{0};             // workers in, or on the way into, futex_wait on epoch
  alignas(64) Word pending{0};  // workers that have not finished this epoch
  Word caller_sleeps{0};
  alignas(64) Word arrived{0};  // at barriers of this epoch, counted over all of them
  Word barrier_sleepers{0};

  void run_slice(const lathe_phase& phase, int thread) const {
    const std::int64_t begin = phase.count * thread / threads;
    const std::int64_t end = phase.count * (thread + 1) / threads;
    if (begin < end) phase.body(context, begin, end, thread);
  }
  void run_slices(int thread) {
    for (std::int64_t p = 0; p < phase_count; ++p) {
      if (p > 0) wait_at_barrier(static_cast<std::uint32_t>(p));
      run_slice(phases[p], thread);
    }
  }

  // Waits until all threads have come to the barrier before phase p.
  void wait_at_barrier(std::uint32_t p) {
    const std::uint32_t all = p * static_cast<std::uint32_t>(threads);
    // The last one looks for sleepers after it is counted; a sleeper counts itself, then looks (in
    // the kernel) whether anybody has come since: so at least one side sees the other.
    if (arrived.fetch_add(1, std::memory_order_seq_cst) + 1 == all) {
      if (barrier_sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(arrived);
      return;
    }
    const auto open = [&] { return arrived.load(std::memory_order_acquire) >= all; };
    if (spin(spin_ns, open)) return;
    barrier_sleepers.fetch_add(1, std::memory_order_seq_cst);
    for (std::uint32_t seen; (seen = arrived.load(std::memory_order_seq_cst)) < all;)
      futex_wait(arrived, seen);
    barrier_sleepers.fetch_sub(1, std::memory_order_relaxed);
  }

  void publish() {
    arrived.store(0, std::memory_order_relaxed);
    pending.store(static_cast<std::uint32_t>(threads - 1), std::memory_order_relaxed);
    epoch.fetch_add(1, std::memory_order_seq_cst);
    // A worker first counts itself as a sleeper, then looks at epoch again (in the kernel): so at
    // least one side sees the other.
    if (sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(epoch);
  }

  void finish_region() {
    if (pending.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
    if (caller_sleeps.load(std::memory_order_seq_cst) != 0) futex_wake_all(pending);
  }

  void wait_for_workers() {
    const auto done = [this] { return pending.load(std::memory_order_acquire) == 0; };
    if (spin(spin_ns, done)) return;
    caller_sleeps.store(1, std::memory_order_seq_cst);
    for (std::uint32_t left; (left = pending.load(std::memory_order_seq_cst)) != 0;)
      futex_wait(pending, left);
    caller_sleeps.store(0, std::memory_order_relaxed);
  }

  std::uint32_t wait_for_epoch(std::uint32_t seen) {
    const auto changed = [&] { return epoch.load(std::memory_order_acquire) != seen; };
    if (!spin(spin_ns, changed)) {
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      while (epoch.load(std::memory_order_seq_cst) == seen) futex_wait(epoch, seen);
      sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
    return seen + 1;
  }

  void work(int index) {
    for (std::uint32_t seen = 0;;) {
      seen = wait_for_epoch(seen);
      if (stop) return;
      run_slices(index);
      finish_region();
    }
  }

  static void* thread_main(void* argument) {
    auto* worker = static_cast<Worker*>(argument);
    worker->state->work(worker->index);
    return nullptr;
  }

  explicit State(const Options& options) {
    spin_ns = options.threads > processors() && options.cpus == nullptr ? 0 : options.spin_ns;
    workers = static_cast<Worker*>(
        std::calloc(static_cast<std::size_t>(options.threads), sizeof(Worker)));
    if (workers != nullptr) wanted = options.threads;
    for (int t = 1; t < wanted; ++t)
      workers[t] = {this, t, options.cpus != nullptr ? options.cpus[t] : -1, {}};
    start();
  }

  void start() {
    home.set();
    threads = 1;
    // Workers read it only after the first epoch is published.
    for (; threads < wanted; ++threads) {
      Worker& worker = workers[threads];
      if (pthread_create(&worker.thread, nullptr, thread_main, &worker) != 0) break;
      if (worker.cpu >= 0) pin(worker.thread, worker.cpu);
    }
  }

  // For a forked child: the parent's threads are not here, whatever they were doing.
  void start_again() {
    for (Word* word : {&epoch, &sleepers, &pending, &caller_sleeps, &barrier_sleepers})
      word->store(0, std::memory_order_relaxed);
    start();
  }

  static void pin(pthread_t thread, int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(thread, sizeof set, &set);
  }
};

namespace {
void run_region_entry(void* self, const lathe_phase* phases, std::int64_t count, void* context) {
  static_cast<Pool*>(self)->run_region(phases, count, context);
}

// True if no phase has work for a second thread.
bool is_serial(const lathe_phase* phases, std::int64_t count) {
  for (std::int64_t p = 0; p < count; ++p)
    if (phases[p].count > 1) return false;
  return true;
}

void run_alone(const lathe_phase* phases, std::int64_t count, void* context) {
  for (std::int64_t p = 0; p < count; ++p)
    if (phases[p].count > 0) phases[p].body(context, 0, phases[p].count, 0);
}
}  // namespace

Pool::Pool(const Options& options) : state_(nullptr), runtime_{run_region_entry, this} {
  if (options.threads <= 1) return;
  void* memory = std::aligned_alloc(alignof(State), sizeof(State));
  if (memory == nullptr) return;
  state_ = new (memory) State(options);
}

Pool::~Pool() {
  if (state_ == nullptr) return;
  if (state_->home.here()) {
    state_->stop = true;
    state_->publish();
    for (int t = 1; t < state_->threads; ++t) pthread_join(state_->workers[t].thread, nullptr);
  }
  std::free(state_->workers);
  state_->~State();
  std::free(state_);
}

int Pool::threads() const { return state_ == nullptr ? 1 : state_->threads; }

void Pool::parallel_for(std::int64_t count, lathe_body body, void* context) {
  const lathe_phase phase{body, count};
  run_region(&phase, 1, context);
}

void Pool::run_region(const lathe_phase* phases, std::int64_t count, void* context) {
  if (state_ == nullptr || is_serial(phases, count)) return run_alone(phases, count, context);
  if (!state_->home.here()) state_->start_again();
  if (state_->threads == 1) return run_alone(phases, count, context);
  state_->phases = phases;
  state_->phase_count = count;
  state_->context = context;
  state_->publish();
  state_->run_slices(0);
  state_->wait_for_workers();
}

}  // namespace lathe::pool
