#include "api/loaded_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "api/targets.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/statistics.h"
#include "compiler/backends/backends.h"
#include "runtime/module/scratch.h"

namespace lathe::api {
namespace {

constexpr std::size_t kAlignment = 64;

Status check_scratch(std::int64_t worker_bytes, int threads) {
  const double bytes = static_cast<double>(worker_bytes) * threads,
               memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (bytes < memory / 2) return {};
  return fail_at("--threads", ErrorKind::kOutOfMemory,
                 "the scratch of {} threads takes {:.1f} GB, and this machine has {:.1f}; use "
                 "fewer",
                 threads, bytes / 1e9, memory / 1e9);
}

}  // namespace

void LoadedProgram::Free::operator()(std::byte* memory) const { std::free(memory); }

LoadedProgram::Memory LoadedProgram::allocate(std::int64_t bytes) {
  const std::size_t size = (static_cast<std::size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
  return zeroed(std::aligned_alloc(kAlignment, size), size);
}

LoadedProgram::Memory LoadedProgram::allocate_scratch(std::int64_t bytes) {
  return zeroed(module::allocate_scratch(bytes), static_cast<std::size_t>(bytes));
}

LoadedProgram::Memory LoadedProgram::zeroed(void* memory, std::size_t size) {
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, size);
  return Memory(static_cast<std::byte*>(memory));
}

LoadedProgram::LoadedProgram(std::unique_ptr<module::Module> module,
                             std::vector<tensor::Border> inputs,
                             std::vector<tensor::Border> outputs, int workers, Threads threads)
    : module_(std::move(module)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      pool_({.threads = threads == Threads::kPool ? workers : 1}) {
  for (const auto* borders : {&inputs_, &outputs_})
    for (const auto& border : *borders) {
      storage_.push_back(allocate(border.bytes()));
      pointers_.push_back(storage_.back().get());
      touched_.push_back({pointers_.back(), border.bytes()});
      if (border.constant) constant_.push_back(touched_.back());
    }
  const lathe_module& table = module_->table();
  for (const std::int64_t bytes :
       {table.constant_bytes, table.workspace_bytes, table.worker_bytes * workers}) {
    areas_.push_back(allocate_scratch(bytes));
    touched_.push_back({areas_.back().get(), bytes});
    if (areas_.size() == 1 && bytes > 0) constant_.push_back(touched_.back());
  }
}

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::make(const te::Workload& workload,
                                                           const schedule::Trace& trace,
                                                           const Target& target, Checking checking,
                                                           Threads threads) {
  LATHE_TRY_STATUS(check_runs_here(target));
  const auto built = LATHE_TRY(driver::build(te::canonical(workload), trace, target, backends()));
  LATHE_TRY(check_library(workload, trace, target, built.code.library, checking));
  return load(built, target, threads);
}

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::make(const flat::Program& program,
                                                           const Target& target) {
  LATHE_TRY_STATUS(check_runs_here(target));
  return load({program, LATHE_TRY(driver::compile(program, target, backends()))}, target,
              Threads::kPool);
}

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::load(const driver::Compiled& built,
                                                           const Target& target, Threads threads) {
  auto module = LATHE_TRY(module::load_module(built.code.library));
  LATHE_TRY_STATUS(check_scratch(module->table().worker_bytes, target.threads()));
  return std::unique_ptr<LoadedProgram>(new LoadedProgram(
      std::move(module), built.program.inputs, built.program.outputs, target.threads(), threads));
}

void LoadedProgram::prepare() {
  const auto entry = module_->table().prepare;
  if (entry != nullptr)
    entry(pool_.runtime(), pointers_.data(), constants(), workspace(), workers());
}

void LoadedProgram::set_constants(std::span<const void* const> inputs) {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].constant) tensor::pack(inputs_[i], inputs[i], pointers_[i]);
  prepare();
}

void LoadedProgram::run(std::span<const void* const> inputs, std::span<void* const> outputs) {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (!inputs_[i].constant) tensor::pack(inputs_[i], inputs[i], pointers_[i]);
  call();
  get_outputs(outputs);
}

void LoadedProgram::get_outputs(std::span<void* const> outputs) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    tensor::unpack(outputs_[i], pointers_[inputs_.size() + i], outputs[i]);
}

void LoadedProgram::fill_random(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> plain;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto& border = inputs_[i];
    const std::int64_t size = size_of(border.dtype);
    plain.resize(static_cast<std::size_t>(border.elements() * size));
    for (std::int64_t e = 0; e < border.elements(); ++e)
      store_element(
          border.dtype, plain.data() + e * size,
          is_float(border.dtype) ? rng.uniform() + 0.1 : static_cast<double>(1 + rng.below(4)));
    tensor::pack(border, plain.data(), pointers_[i]);
  }
  prepare();
}

double LoadedProgram::time(double seconds, CacheMode cache) {
  if (cache == CacheMode::kWarm || (cache == CacheMode::kFar && constant_.empty())) {
    const double start = seconds_now();
    std::int64_t calls = 0;
    double spent = 0;
    do {
      call();
      ++calls;
      spent = seconds_now() - start;
    } while (spent < seconds);
    return spent / static_cast<double>(calls);
  }
  constexpr std::size_t kFewest = 5;
  std::vector<double> times;
  const double began = seconds_now();
  double spent = 0;
  // To empty the caches may take longer than the calls, and is no reason to go on for long.
  do {
    module::make_cold(cache == CacheMode::kFar ? constant_ : touched_);
    const double start = seconds_now();
    call();
    times.push_back(seconds_now() - start);
    spent += times.back();
  } while (spent < seconds && (times.size() < kFewest || seconds_now() - began < 2 * seconds));
  return quantile(std::move(times), 0.5);
}

}  // namespace lathe::api
