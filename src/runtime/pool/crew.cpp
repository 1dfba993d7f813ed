#include "runtime/pool/crew.h"

#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <initializer_list>
#include <new>

namespace lathe::pool {
namespace {

constexpr std::uint64_t kEnd = ~std::uint64_t{0};  // mail: the worker ends
// How much work of one thread is worth waking others for, measured on virtual machines: processors
// that have rested for long come later.
constexpr std::int64_t kWorthInARow = 2'000, kWorthShort = 50'000, kWorthLong = 160'000;
constexpr std::int64_t kRow = 200'000, kLong = 5'000'000;  // pauses
constexpr std::int64_t kAskAgain = 1'000'000'000;          // nanoseconds
constexpr std::uint32_t kLookAfter = 256, kTryAlone = 16;  // regions

void* allocate(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Signals are the program's: its own threads take them. But what a worker does wrong comes to it.
sigset_t signals_of_others() {
  sigset_t set;
  sigfillset(&set);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    sigdelset(&set, own);
  return set;
}

void pin(pthread_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  pthread_setaffinity_np(thread, sizeof set, &set);
}

// Takes the lowest bits of a word, `wanted` of them at most.
std::uint64_t take_bits(Number& word, int wanted, std::uint64_t among) {
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  for (;;) {
    std::uint64_t taken = 0, left = seen & among;
    for (int i = 0; i < wanted && left != 0; ++i, left &= left - 1) taken |= left & -left;
    if (taken == 0 || word.compare_exchange_weak(seen, seen & ~taken, std::memory_order_acq_rel,
                                                 std::memory_order_relaxed))
      return taken;
  }
}

// Orders what this thread has stored before what it reads next.
void full_fence() {
#if !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
#if defined(__SANITIZE_THREAD__)  // which knows no fences
constexpr auto kBeforeFence = std::memory_order_seq_cst;
#else
constexpr auto kBeforeFence = std::memory_order_release;
#endif

}  // namespace

void run_alone(const lathe_phase* phases, std::int64_t count, void* context) {
  for (std::int64_t p = 0; p < count; ++p)
    if (phases[p].count > 0) phases[p].body(context, 0, phases[p].count, 0);
}

Crew::Crew(const CrewOptions& options, Worker* workers)
    : most_threads_(options.most_threads),
      within_processors_(options.within_processors),
      placing_(options.cpus == nullptr),
      spin_ns_(options.spin_ns),
      workers_(workers),
      allowed_(allowed_processors()) {
  for (int t = 1; t < most_threads_; ++t) {
    Worker& worker = *new (workers_ + t) Worker{};
    worker.crew = this;
    worker.cpu = options.cpus != nullptr ? options.cpus[t] : -1;
    worker.kept_off.store(-1, std::memory_order_relaxed);
  }
  free_slots_.store(~std::uint64_t{0}, std::memory_order_relaxed);
  if (within_processors_) {
    quota_ = processors_by_quota();
    nodes_.read();
  }
  count_processors();
  home_.set();
}

Crew* Crew::make(const CrewOptions& options) {
  CrewOptions bounded = options;
  if (bounded.most_threads > kMostThreads) bounded.most_threads = kMostThreads;
  if (bounded.most_threads < 1) bounded.most_threads = 1;
  const auto threads = static_cast<std::size_t>(bounded.most_threads);
  static_assert(sizeof(Crew) % alignof(Worker) == 0);
  void* memory = allocate(sizeof(Crew) + threads * sizeof(Worker));
  if (memory == nullptr) return nullptr;
  return new (memory)
      Crew(bounded, reinterpret_cast<Worker*>(static_cast<char*>(memory) + sizeof(Crew)));
}

void Crew::destroy(Crew* crew) {
  if (crew->home_.here()) {
    crew->stop_.store(true, std::memory_order_release);
    const int started = crew->started_.load(std::memory_order_acquire);
    for (int t = 1; t < started; ++t) {
      crew->workers_[t].mail.store(kEnd, std::memory_order_seq_cst);
      futex_wake(low_half(crew->workers_[t].mail), kEveryone);
    }
    for (int t = 1; t < started; ++t) pthread_join(crew->workers_[t].thread, nullptr);
  }
  for (Slot& slot : crew->slots_)
    if (slot.region != nullptr) munmap(slot.region, Region::bytes(slot.region->most_lanes()));
  const std::size_t bytes =
      sizeof(Crew) + static_cast<std::size_t>(crew->most_threads_) * sizeof(Worker);
  crew->~Crew();
  munmap(static_cast<void*>(crew), bytes);
}

void Crew::lock() {
  while (locked_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
}
void Crew::unlock() { locked_.store(0, std::memory_order_release); }

int Crew::start(int threads) {
  if (threads > most_threads_) threads = most_threads_;
  if (started_.load(std::memory_order_acquire) >= threads)
    return started_.load(std::memory_order_relaxed);
  // Where the system gives no more, it is not asked in each region.
  if (now_ns() - refused_ns_.load(std::memory_order_relaxed) < kAskAgain)
    return started_.load(std::memory_order_relaxed);
  lock();
  const sigset_t others = signals_of_others();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &others, &before);
  for (int t = started_.load(std::memory_order_relaxed); t < threads; ++t) {
    Worker& worker = workers_[t];
    if (pthread_create(&worker.thread, nullptr, thread_main, &worker) != 0) {
      refused_ns_.store(now_ns(), std::memory_order_relaxed);
      break;
    }
    if (worker.cpu >= 0) pin(worker.thread, worker.cpu);
    started_.store(t + 1, std::memory_order_release);
    free_workers_[t / 64].fetch_or(std::uint64_t{1} << t % 64, std::memory_order_acq_rel);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  unlock();
  return started_.load(std::memory_order_acquire);
}

// In a forked child the parent's threads are not here, whatever they were doing.
void Crew::look_for_fork() {
  if (home_.here()) return;
  locked_.store(0, std::memory_order_relaxed);
  asleep_.store(0, std::memory_order_relaxed);
  started_.store(1, std::memory_order_relaxed);
  for (Number& word : free_workers_) word.store(0, std::memory_order_relaxed);
  for (Slot& slot : slots_) {
    if (slot.region != nullptr) Region::make(slot.region, slot.region->most_lanes());
    for (Number& word : slot.to_wake) word.store(0, std::memory_order_relaxed);
  }
  for (int t = 1; t < most_threads_; ++t) {
    workers_[t].mail.store(0, std::memory_order_relaxed);
    workers_[t].asleep.store(0, std::memory_order_relaxed);
    workers_[t].kept_off.store(-1, std::memory_order_relaxed);
  }
  free_slots_.store(~std::uint64_t{0}, std::memory_order_relaxed);
  home_.set();
}

int Crew::threads(int threads) {
  if (within_processors_) {
    count_processors();
    const int processors = processors_.load(std::memory_order_relaxed);
    if (threads > processors) threads = processors;
  }
  const int started = start(threads);
  return threads < started ? threads : started;
}

void Crew::run(const lathe_phase* phases, std::int64_t count, void* context, int threads) {
  in_regions(phases, count, threads, [&](const lathe_phase* now, int phase_count, int lanes) {
    if (lanes > 1) run_phases(now, phase_count, context, lanes);
    else run_alone(now, phase_count, context);
  });
}

void Crew::run_phases(const lathe_phase* phases, int count, void* context, int lanes) {
  look_for_fork();
  if (within_processors_) {
    if (regions_.fetch_add(1, std::memory_order_relaxed) >= kLookAfter) look_for_processors();
    const int processors = processors_.load(std::memory_order_relaxed);
    if (lanes > processors) lanes = processors;
  }
  if (lanes < 2 || start(lanes) < 2) return run_alone(phases, count, context);
  const bool all_asleep =
      asleep_.load(std::memory_order_relaxed) + 1 == started_.load(std::memory_order_relaxed);
  if (!all_asleep) {
    share(phases, count, context, lanes, 0);
    return;
  }
  // What one thread does sooner than others wake up is done by one.
  const std::int64_t begin = now_ns();
  const std::int64_t worth = worth_waking(begin - ended_ns_.load(std::memory_order_relaxed));
  Known& known = known_of(phases->body);
  const bool is_known = known.body.load(std::memory_order_relaxed) == phases->body;
  const std::int64_t before = is_known ? known.alone_ns.load(std::memory_order_relaxed) : 0;
  const bool is_long = before >= worth;
  bool alone = is_known && !is_long;
  if (alone) run_alone(phases, count, context);
  // Of a region that is worth it one phase at least takes its part.
  else alone = !share(phases, count, context, lanes, is_long ? worth / count : worth);
  const std::int64_t end = now_ns(), took = end - begin;
  ended_ns_.store(end, std::memory_order_relaxed);
  known.body.store(phases->body, std::memory_order_relaxed);
  // What was long once, perhaps as its pages were new, need not be so again. What others helped
  // with and was done so soon is tried alone, now and then where that is less clear; not where one
  // thread is known to take longer.
  const bool gained = !alone && before > took && before != kWorthLong;
  bool again = took < worth;
  if (!alone && !gained && !again && took < 2 * worth) {
    const unsigned helped = is_known ? known.helped.load(std::memory_order_relaxed) : 0;
    known.helped.store(helped + 1, std::memory_order_relaxed);
    again = helped % kTryAlone == 0;
  }
  known.alone_ns.store(alone    ? took
                       : gained ? before
                       : again  ? 0
                                : kWorthLong,
                       std::memory_order_relaxed);
}

// Programs are loaded at the beginnings of pages, so their addresses differ in high bits.
Crew::Known& Crew::known_of(lathe_body body) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;
  return known_[(reinterpret_cast<std::uintptr_t>(body) * kMix >> 32) % kKnown];
}

// Nanoseconds of one thread's work that are worth waking others after such a pause. In a row of
// regions the next ones find them awake.
std::int64_t Crew::worth_waking(std::int64_t pause) const {
  return pause < kRow ? kWorthInARow : pause < kLong ? kWorthShort : kWorthLong;
}

// Shares a region with workers that nobody has. Those who sleep are woken once one thread would
// need `worth` nanoseconds for the rest of a phase. True: some were woken.
bool Crew::share(const lathe_phase* phases, int count, void* context, int lanes,
                 std::int64_t worth) {
  const int number = take_slot();
  if (number < 0) {
    run_alone(phases, count, context);
    return false;
  }
  Slot& slot = slots_[number];
  std::uint16_t taken[kMostThreads];
  Region* region = region_of(slot);
  const int workers = region != nullptr ? take_workers(lanes - 1, taken) : 0;
  struct Ring {
    Crew* crew;
    Slot* slot;
    int lanes;
    bool rung;
  } ring{this, &slot, workers + 1, false};
  if (workers > 0) {
    const std::uint64_t opened = region->open(phases, count, context, workers + 1);
    const bool sleepers = call(slot, static_cast<unsigned>(number), taken, workers + 1, opened);
    const Alarm alarm{worth,
                      [](void* self) {
                        auto* it = static_cast<Ring*>(self);
                        it->rung = true;
                        it->crew->find_others(*it->slot, it->lanes);
                        it->crew->wake(*it->slot, 1);
                      },
                      &ring};
    const bool slept = region->work(opened, 0, spin_ns_, sleepers ? &alarm : nullptr);
    release(taken, workers);
    if (slept && within_processors_) look_for_processors();
  }
  free_slots_.fetch_or(std::uint64_t{1} << number, std::memory_order_release);
  if (workers == 0) run_alone(phases, count, context);
  return ring.rung;
}

int Crew::take_slot() {
  const std::uint64_t taken = take_bits(free_slots_, 1, ~std::uint64_t{0});
  return taken == 0 ? -1 : __builtin_ctzll(taken);
}

// Always the first that are free, which therefore are awake, if any are.
int Crew::take_workers(int wanted, std::uint16_t* taken) {
  int count = 0;
  const int started = started_.load(std::memory_order_acquire);
  int limit = started;
  if (within_processors_) {
    const int processors = processors_.load(std::memory_order_relaxed);
    if (limit > processors) limit = processors;
  }
  for (int w = 0; w * 64 < limit && count < wanted; ++w) {
    const int left = limit - w * 64;
    const std::uint64_t among = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
    for (std::uint64_t bits = take_bits(free_workers_[w], wanted - count, among); bits != 0;
         bits &= bits - 1)
      taken[count++] = static_cast<std::uint16_t>(w * 64 + __builtin_ctzll(bits));
  }
  return count;
}

void Crew::release(const std::uint16_t* workers, int count) {
  for (int i = 0; i < count;) {
    const int w = workers[i] / 64;
    std::uint64_t bits = 0;
    for (; i < count && workers[i] / 64 == w; ++i) bits |= std::uint64_t{1} << workers[i] % 64;
    free_workers_[w].fetch_or(bits, std::memory_order_release);
  }
}

Region* Crew::region_of(Slot& slot) {
  if (slot.region == nullptr)
    if (void* memory = allocate(Region::bytes(most_threads_)))
      slot.region = Region::make(memory, most_threads_);
  return slot.region;
}

// Tells the workers where they are wanted. True: some are asleep.
bool Crew::call(Slot& slot, unsigned number, const std::uint16_t* taken, int lanes,
                std::uint64_t region) {
  for (int lane = 1; lane < lanes; ++lane) {
    slot.members[lane].store(taken[lane - 1], std::memory_order_relaxed);
    workers_[taken[lane - 1]].mail.store(Mail{region, number, static_cast<unsigned>(lane)}.word(),
                                         kBeforeFence);
  }
  full_fence();
  std::uint64_t asleep[kWords] = {};
  bool sleepers = false;
  for (int lane = 1; lane < lanes; ++lane)
    if (workers_[taken[lane - 1]].asleep.load(std::memory_order_seq_cst) != 0) {
      asleep[lane / 64] |= std::uint64_t{1} << lane % 64;
      sleepers = true;
    }
  if (!sleepers) place(slot, lanes);
  else
    for (int w = 0; w * 64 < lanes; ++w)
      slot.to_wake[w].store(asleep[w], std::memory_order_release);
  return sleepers;
}

// Wakes some of those who are still asleep.
void Crew::wake(Slot& slot, int most) {
  for (int w = 0; w * 64 < most_threads_ && most > 0; ++w) {
    if (slot.to_wake[w].load(std::memory_order_relaxed) == 0) continue;
    for (std::uint64_t bits = take_bits(slot.to_wake[w], most, ~std::uint64_t{0}); bits != 0;
         bits &= bits - 1, --most) {
      const int lane = w * 64 + __builtin_ctzll(bits);
      Worker& worker = workers_[slot.members[lane].load(std::memory_order_relaxed)];
      keep_off(worker, slot);
      futex_wake(low_half(worker.mail), 1);
    }
  }
}

void* Crew::thread_main(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  worker->crew->work(*worker);
  return nullptr;
}

void Crew::work(Worker& worker) {
  for (std::uint64_t seen = 0;;) {
    if (!spin_until_changed(worker.mail, seen, spin_ns_)) {
      asleep_.fetch_add(1, std::memory_order_relaxed);
      sleep_until_changed(worker.mail, seen, worker.asleep);
      asleep_.fetch_sub(1, std::memory_order_relaxed);
    }
    seen = worker.mail.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    const Mail mail = Mail::of(seen);
    Slot& slot = slots_[mail.slot];
    wake(slot, 2);
    slot.region->work(mail.region, static_cast<int>(mail.lane), spin_ns_);
  }
}

}  // namespace lathe::pool
