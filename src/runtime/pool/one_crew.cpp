#include "runtime/pool/one_crew.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

#include "runtime/pool/crew.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace lathe::pool {
namespace {

// How other libraries call a crew. It must stay as it is: they may be of another version.
struct SharedCrew {
  void (*run)(void* self, const lathe_phase* phases, std::int64_t count, void* context,
              std::int64_t threads);
  std::int64_t (*threads)(void* self, std::int64_t threads);
  void* self;
};

// What the page tells. Its first part stays in forked children. This, too, must stay as it is: a
// version that cannot keep to it takes another name and other addresses.
struct Label {
  char name[24];
  std::atomic<char> state;  // kWritten, and kEmptied where the kernel empties the board in children
};
struct Board {
  std::atomic<const SharedCrew*> crew;
  std::atomic<const void*> owner;  // the library whose code the threads run
  Word users;                      // callers in it
  Word closing;                    // its owner is being unloaded
  Word making;                     // somebody makes a crew
  std::atomic<int> process;        // that made it
};
static_assert(std::atomic<const void*>::is_always_lock_free);

constexpr char kName[24] = "lathe's threads, 1";
constexpr char kWritten = 1, kEmptied = 2;
constexpr std::size_t kPage = 64 * 1024;  // a multiple of every size of pages
// Below 2 GiB: the sanitizers leave that part of the address space to programs.
constexpr std::uintptr_t kAddresses[] = {0x5a7e0000, 0x6a7e0000};

Label own_label;  // of this library, where no page can be had
Board own_board;
std::atomic<Label*> found{nullptr};
SharedCrew made;              // by this library
const char kThisLibrary = 0;  // its address tells libraries apart

Board& board_of(Label* label) {
  if (label == &own_label) return own_board;
  return *reinterpret_cast<Board*>(reinterpret_cast<char*>(label) + kPage);
}

// Reads memory that may be anybody's, or nobody's.
bool read_safely(const void* from, void* to, std::size_t bytes) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const bool all = write(ends[1], from, bytes) == static_cast<ssize_t>(bytes) &&
                   read(ends[0], to, bytes) == static_cast<ssize_t>(bytes);
  close(ends[0]);
  close(ends[1]);
  return all;
}

// Null: something else is there already.
Label* map_page(std::uintptr_t address) {
  auto* wanted = reinterpret_cast<char*>(address);
  void* page = mmap(wanted, 2 * kPage, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (page != wanted) {
    // A kernel before 4.17 takes the address for a hint.
    if (page != MAP_FAILED) munmap(page, 2 * kPage);
    return nullptr;
  }
  auto* label = reinterpret_cast<Label*>(wanted);
  std::memcpy(label->name, kName, sizeof kName);
  const bool emptied = empties_on_fork(wanted + kPage, kPage);
  label->state.store(emptied ? kWritten | kEmptied : kWritten, std::memory_order_release);
  return label;
}

// Null: what is there is not ours.
Label* known_page(std::uintptr_t address) {
  char there[sizeof(Label)];
  for (int tries = 0; tries < 1'000; ++tries) {
    if (!read_safely(reinterpret_cast<const void*>(address), there, sizeof there)) return nullptr;
    const bool named = std::memcmp(there, kName, sizeof kName) == 0;
    if (named && (there[offsetof(Label, state)] & kWritten) != 0)
      return reinterpret_cast<Label*>(address);
    if (!named && there[0] != 0) return nullptr;
    const timespec pause{0, 10'000};  // somebody has mapped it, and is about to write
    nanosleep(&pause, nullptr);
  }
  return nullptr;
}

Label* find_page() {
  for (const std::uintptr_t address : kAddresses) {
    if (Label* label = map_page(address)) return label;
    if (Label* label = known_page(address)) return label;
  }
  return &own_label;
}

// The board, emptied where it is a parent's.
Board& board_here() {
  Label* label = found.load(std::memory_order_acquire);
  if (label == nullptr) found.store(label = find_page(), std::memory_order_release);
  Board& board = board_of(label);
  if ((label->state.load(std::memory_order_relaxed) & kEmptied) == 0) {
    const int process = getpid();
    if (board.process.load(std::memory_order_relaxed) != process) {
      board.crew.store(nullptr);
      board.owner.store(nullptr);
      for (Word* word : {&board.users, &board.closing, &board.making}) word->store(0);
      board.process.store(process);
    }
  }
  return board;
}

void run_on(void* self, const lathe_phase* phases, std::int64_t count, void* context,
            std::int64_t threads) {
  static_cast<Crew*>(self)->run(phases, count, context, static_cast<int>(threads));
}

std::int64_t threads_on(void* self, std::int64_t threads) {
  return static_cast<Crew*>(self)->threads(static_cast<int>(threads));
}

Crew* new_crew() {
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  CrewOptions options{.spin_ns = kSpin, .within_processors = true};
  options.most_threads =
      processors < Crew::kMostThreads ? static_cast<int>(processors) : Crew::kMostThreads;
  int cpus[Crew::kMostThreads] = {};
  const char* pins = getenv("LATHE_PIN_THREADS");
  if (pins != nullptr && std::strcmp(pins, "1") == 0) {
    const cpu_set_t allowed = allowed_processors();
    options.most_threads = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && options.most_threads < Crew::kMostThreads; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) cpus[options.most_threads++] = cpu;
    options.cpus = cpus;
  }
  return Crew::make(options);
}

// Null: somebody else is making one, or there is no memory.
const SharedCrew* make_crew(Board& board) {
  if (board.making.exchange(1, std::memory_order_seq_cst) != 0) return nullptr;
  const SharedCrew* crew = board.crew.load(std::memory_order_acquire);
  if (crew == nullptr) {
    if (Crew* own = new_crew()) {
      made = {run_on, threads_on, own};
      board.process.store(getpid());
      board.owner.store(&kThisLibrary);
      board.crew.store(&made, std::memory_order_seq_cst);
      crew = &made;
    }
  }
  board.making.store(0, std::memory_order_seq_cst);
  return crew;
}

// Calls `use` with the crew, or with null where there is none now.
template <class Use>
void with_crew(const Use& use) {
  Board& board = board_here();
  // A caller counts itself, then looks whether the crew is closing; who closes it looks for callers
  // afterwards: so at least one side sees the other.
  board.users.fetch_add(1, std::memory_order_seq_cst);
  if (board.closing.load(std::memory_order_seq_cst) != 0) {
    board.users.fetch_sub(1, std::memory_order_release);
    return use(nullptr);
  }
  const SharedCrew* crew = board.crew.load(std::memory_order_acquire);
  if (crew == nullptr) crew = make_crew(board);
  use(crew);
  board.users.fetch_sub(1, std::memory_order_release);
}

// When the library is unloaded: the threads run code that will be gone. Where the process ends in
// the middle of a call that does not end, they are left alone.
__attribute__((destructor)) void end_crew() {
  Label* label = found.load(std::memory_order_acquire);
  if (label == nullptr) return;
  Board& board = board_of(label);
  if (board.owner.load() != &kThisLibrary || board.process.load() != getpid()) return;
  constexpr int kMostPauses = 200'000;  // 10 seconds
  const timespec pause{0, 50'000};
  board.closing.store(1, std::memory_order_seq_cst);
  for (int i = 0; board.users.load(std::memory_order_seq_cst) != 0; ++i) {
    if (i == kMostPauses) return;
    nanosleep(&pause, nullptr);
  }
  board.crew.store(nullptr);
  board.owner.store(nullptr);
  Crew::destroy(static_cast<Crew*>(made.self));
  board.closing.store(0, std::memory_order_seq_cst);
}

}  // namespace

void run_on_the_crew(const lathe_phase* phases, std::int64_t count, void* context, int threads) {
  with_crew([&](const SharedCrew* crew) {
    if (crew != nullptr) crew->run(crew->self, phases, count, context, threads);
    else run_alone(phases, count, context);
  });
}

int threads_of_the_crew(int threads) {
  std::int64_t found_threads = 1;
  with_crew([&](const SharedCrew* crew) {
    if (crew != nullptr) found_threads = crew->threads(crew->self, threads);
  });
  return static_cast<int>(found_threads);
}

}  // namespace lathe::pool
