#include "openmp.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "runtime/pool/crew.h"
#include "runtime/pool/one_crew.h"
#include "runtime/pool/region.h"

namespace lathe::python {
namespace {

// GNU's and Intel's runtimes both have these.
using Parallel = void(void (*body)(void*), void* data, unsigned threads, unsigned flags);
using ThreadNumber = int();

struct Functions {
  Parallel* parallel = nullptr;
  ThreadNumber* number = nullptr;
};

// In the library that PyTorch's kernels are in, or in what it was linked with.
Functions functions_of_torch() {
  Functions found;
  void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (torch == nullptr) return found;
  found.parallel = reinterpret_cast<Parallel*>(dlsym(torch, "GOMP_parallel"));
  found.number = reinterpret_cast<ThreadNumber*>(dlsym(torch, "omp_get_thread_num"));
  dlclose(torch);  // PyTorch is never unloaded
  return found;
}

struct Free {
  void operator()(pool::Region* region) const { std::free(region); }
};

}  // namespace

struct OpenMpThreads::State {
  Functions functions;
  int threads = 1;
  std::unique_ptr<pool::Region, Free> region;
  std::uint64_t number = 0;  // of the region that runs
  pool::ProcessMark home;

  void run(const lathe_phase* phases, int count, void* context, int lanes) {
    if (lanes < 2) return pool::run_alone(phases, count, context);
    // In a forked child GNU's runtime waits for threads that are not there.
    if (!home.here()) return pool::run_on_the_crew(phases, count, context, lanes);
    number = region->open(phases, count, context, lanes);
    functions.parallel(join, this, static_cast<unsigned>(lanes), 0);
  }

  // There may be fewer threads than were asked for: others do the work of those.
  static void join(void* self) {
    auto& state = *static_cast<State*>(self);
    state.region->work(state.number, state.functions.number(), pool::kSpin);
  }

  static void run_region(void* self, const lathe_phase* phases, std::int64_t count, void* context) {
    auto& state = *static_cast<State*>(self);
    pool::in_regions(phases, count, state.threads,
                     [&](const lathe_phase* now, int phase_count, int lanes) {
                       state.run(now, phase_count, context, lanes);
                     });
  }
};

OpenMpThreads::OpenMpThreads(std::unique_ptr<State> state)
    : state_(std::move(state)), runtime_{State::run_region, state_.get()} {}
OpenMpThreads::~OpenMpThreads() = default;

std::unique_ptr<OpenMpThreads> OpenMpThreads::of_torch(int threads) {
  auto state = std::make_unique<State>();
  state->functions = functions_of_torch();
  if (threads < 2 || state->functions.parallel == nullptr || state->functions.number == nullptr)
    return nullptr;
  state->home.set();
  state->threads = std::min(threads, pool::Crew::kMostThreads);
  constexpr std::size_t kLine = 64;
  const std::size_t bytes = (pool::Region::bytes(state->threads) + kLine - 1) / kLine * kLine;
  void* memory = std::aligned_alloc(kLine, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  state->region.reset(pool::Region::make(memory, state->threads));
  return std::unique_ptr<OpenMpThreads>(new OpenMpThreads(std::move(state)));
}

}  // namespace lathe::python
