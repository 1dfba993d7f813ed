#include "runtime/pool/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

// True if one counter has come to another; both run on past their largest value.
bool reached(std::uint32_t counter, std::uint32_t other) {
  return static_cast<std::int32_t>(counter - other) >= 0;
}

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

cpu_set_t allowed_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
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

// Slices of all regions are numbered on and on: slice number s of each thread belongs to one phase.
// A thread that begins its slice takes it by counting `taken` up, and counts `finished` up
// afterwards. The caller takes the slices of workers that have not begun when it has finished its
// own: they may still be asleep, or wait for the processor that the caller runs on.
struct Pool::State {
  struct alignas(64) Worker {
    State* state;
    int index;  // 1 ... threads-1
    int cpu;    // it is pinned to; -1: to none
    pthread_t thread;
    Word taken;  // slices of this thread that are taken, by it or by the caller
  };

  int threads = 1;  // threads that run, the caller included
  int wanted = 1;   // threads that were asked for
  // Marks the process where the threads run: a forked child has this memory, but only its own
  // thread.
  ProcessMark home;
  std::int64_t spin_ns = 0;
  Worker* workers = nullptr;
  cpu_set_t allowed;        // processors of who made the pool
  bool placing = false;     // workers keep off the caller's processor
  int caller_cpu = -1;      // that they keep off now
  bool slices_left = true;  // by workers, to the caller, in the region before

  // The current region. The caller writes it while no slice is open, and publishes it by `end`.
  const lathe_phase* phases = nullptr;
  void* context = nullptr;
  std::uint32_t first = 0;  // number of its first slice
  std::atomic<bool> stop{false};

  alignas(64) Word end{0};       // number behind its last slice; workers wait for it to change
  Word sleepers{0};              // workers in, or on the way into, futex_wait on end
  alignas(64) Word finished{0};  // slices of all threads
  Word finish_sleepers{0};

  void run_slice(std::uint32_t number, int thread) {
    const lathe_phase& phase = phases[number - first];
    const std::int64_t begin = phase.count * thread / threads;
    const std::int64_t last = phase.count * (thread + 1) / threads;
    if (begin < last) phase.body(context, begin, last, thread);
    // The last one looks for sleepers after it is counted; a sleeper counts itself, then looks (in
    // the kernel) whether anybody has come since: so at least one side sees the other.
    finished.fetch_add(1, std::memory_order_seq_cst);
    if (finish_sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(finished);
  }

  // Waits until all threads' slices before this number are finished.
  void wait_for_slices_before(std::uint32_t number) {
    const std::uint32_t all = number * static_cast<std::uint32_t>(threads);
    const auto open = [&] { return reached(finished.load(std::memory_order_acquire), all); };
    if (spin(spin_ns, open)) return;
    finish_sleepers.fetch_add(1, std::memory_order_seq_cst);
    for (std::uint32_t seen; !reached(seen = finished.load(std::memory_order_seq_cst), all);)
      futex_wait(finished, seen);
    finish_sleepers.fetch_sub(1, std::memory_order_relaxed);
  }

  static bool take(Worker& worker, std::uint32_t number) {
    return worker.taken.compare_exchange_strong(number, number + 1, std::memory_order_acq_rel);
  }

  void run_as_caller(std::uint32_t count) {
    const std::uint32_t begin = first;
    for (std::uint32_t number = begin; number != begin + count; ++number) {
      run_slice(number, 0);
      for (int t = 1; t < threads; ++t) {
        if (!take(workers[t], number)) continue;
        slices_left = true;
        run_slice(number, t);
      }
      wait_for_slices_before(number + 1);
    }
  }

  // What the caller left of this worker's slices. It knows nothing of a region without a slice of
  // its own there: the caller may have left it.
  void run_as_worker(Worker& worker) {
    for (;;) {
      const std::uint32_t number = worker.taken.load(std::memory_order_acquire);
      if (reached(number, end.load(std::memory_order_acquire)) || stop.load()) return;
      if (!take(worker, number)) continue;
      wait_for_slices_before(number);
      run_slice(number, worker.index);
    }
  }

  void publish(std::uint32_t count) {
    if (placing && (slices_left || sleepers.load(std::memory_order_relaxed) != 0)) place();
    slices_left = false;
    first = end.load(std::memory_order_relaxed);
    end.store(first + count, std::memory_order_seq_cst);
    // A worker first counts itself as a sleeper, then looks at `end` again (in the kernel): so at
    // least one side sees the other.
    if (sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(end);
  }

  // A kernel may wake a worker on the caller's processor, though others are idle, and leave it
  // waiting there for some milliseconds.
  void place() {
    const int cpu = sched_getcpu();
    if (cpu == caller_cpu || cpu < 0 || cpu >= CPU_SETSIZE) return;
    // Who confines the process later confines its workers, too.
    const cpu_set_t mine = allowed_processors();
    cpu_set_t others;
    CPU_AND(&others, &mine, &allowed);
    CPU_CLR(static_cast<std::size_t>(cpu), &others);
    if (CPU_COUNT(&others) == 0) return;
    for (int t = 1; t < threads; ++t)
      pthread_setaffinity_np(workers[t].thread, sizeof others, &others);
    caller_cpu = cpu;
  }

  std::uint32_t wait_for_region(std::uint32_t seen) {
    const auto changed = [&] { return end.load(std::memory_order_acquire) != seen; };
    if (!spin(spin_ns, changed)) {
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      while (end.load(std::memory_order_seq_cst) == seen) futex_wait(end, seen);
      sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
    return end.load(std::memory_order_acquire);
  }

  void work(Worker& worker) {
    for (std::uint32_t seen = 0;;) {
      seen = wait_for_region(seen);
      if (stop.load(std::memory_order_acquire)) return;
      run_as_worker(worker);
    }
  }

  static void* thread_main(void* argument) {
    auto* worker = static_cast<Worker*>(argument);
    worker->state->work(*worker);
    return nullptr;
  }

  explicit State(const Options& options) : allowed(allowed_processors()) {
    const bool crowded = options.threads > CPU_COUNT(&allowed) && options.cpus == nullptr;
    spin_ns = crowded ? 0 : options.spin_ns;
    placing = options.cpus == nullptr && CPU_COUNT(&allowed) > 1;
    void* memory = std::aligned_alloc(alignof(Worker),
                                      sizeof(Worker) * static_cast<std::size_t>(options.threads));
    if (memory != nullptr) {
      wanted = options.threads;
      workers = static_cast<Worker*>(memory);
    }
    for (int t = 1; t < wanted; ++t)
      new (&workers[t]) Worker{this, t, options.cpus != nullptr ? options.cpus[t] : -1, {}, 0};
    start();
  }

  // Signals are the program's: its own threads take them. But what a worker does wrong comes to it.
  static sigset_t signals_of_others() {
    sigset_t set;
    sigfillset(&set);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&set, own);
    return set;
  }

  void start() {
    home.set();
    threads = 1;
    const sigset_t others = signals_of_others();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &others, &before);
    // Workers read it only after the first region is published.
    for (; threads < wanted; ++threads) {
      Worker& worker = workers[threads];
      if (pthread_create(&worker.thread, nullptr, thread_main, &worker) != 0) break;
      if (worker.cpu >= 0) pin(worker.thread, worker.cpu);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // For a forked child: the parent's threads are not here, whatever they were doing.
  void start_again() {
    for (Word* word : {&end, &sleepers, &finished, &finish_sleepers})
      word->store(0, std::memory_order_relaxed);
    for (int t = 1; t < wanted; ++t) workers[t].taken.store(0, std::memory_order_relaxed);
    caller_cpu = -1;
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
    state_->stop.store(true, std::memory_order_relaxed);
    state_->publish(1);
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
  state_->context = context;
  state_->publish(static_cast<std::uint32_t>(count));
  state_->run_as_caller(static_cast<std::uint32_t>(count));
}

}  // namespace lathe::pool
