// A program that was built under a trace and loaded into this process, with memory of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/checked.h"
#include "base/cache_mode.h"
#include "base/result.h"
#include "base/target.h"
#include "compiler/driver/driver.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"
#include "runtime/module/caches.h"
#include "runtime/module/module.h"
#include "runtime/pool/pool.h"
#include "runtime/tensor/layout.h"

namespace lathe::api {

// Who runs the threads' parts of a program.
enum class Threads {
  kPool,    // threads of its own
  kCaller,  // whoever calls it runs all of them: no thread is started, however many there are
};

class LoadedProgram {
 public:
  // The target must be this machine's. It also fails with the errors of the check (checked.h), and
  // where the scratch of all threads would fill half of the memory (kOutOfMemory).
  static Result<std::unique_ptr<LoadedProgram>> make(const te::Workload& workload,
                                                     const schedule::Trace& trace,
                                                     const Target& target, Checking checking,
                                                     Threads threads = Threads::kPool);
  // Of code that is not checked.
  static Result<std::unique_ptr<LoadedProgram>> make(const flat::Program& program,
                                                     const Target& target);

  // Takes row-major tensors in declared order. Only set_constants() reads constant inputs.
  void set_constants(std::span<const void* const> inputs);
  // What prepare made, and of a program without prepare, what it would have made.
  std::span<std::byte> constant_area() {
    return {areas_[0].get(), static_cast<std::size_t>(module_->table().constant_bytes)};
  }
  void run(std::span<const void* const> inputs, std::span<void* const> outputs);
  // Of the last call.
  void get_outputs(std::span<void* const> outputs) const;

  // For benchmarks: fills inputs with random numbers once; calls then work on the stored layouts
  // and copy nothing.
  void fill_random(std::uint64_t seed);
  void call() { call(*pool_.runtime()); }
  // The runtime may use as many workers as the target has threads.
  void call(const lathe_runtime& runtime) {
    module_->table().run(&runtime, pointers_.data(), constants(), workspace(), workers());
  }
  // Seconds of a call. Warm: it counts calls for at least `seconds`. Cold: the median of single
  // calls, before each of which all that the program touches is thrown out of the caches.
  double time(double seconds, CacheMode cache);

  const std::vector<tensor::Border>& inputs() const { return inputs_; }
  const std::vector<tensor::Border>& outputs() const { return outputs_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  static Memory allocate(std::int64_t bytes);  // as callers do
  static Memory allocate_scratch(std::int64_t bytes);
  static Memory zeroed(void* memory, std::size_t size);

  static Result<std::unique_ptr<LoadedProgram>> load(const driver::Compiled& built,
                                                     const Target& target, Threads threads);
  LoadedProgram(std::unique_ptr<module::Module> module, std::vector<tensor::Border> inputs,
                std::vector<tensor::Border> outputs, int workers, Threads threads);
  void prepare();
  void* constants() { return areas_[0].get(); }
  void* workspace() { return areas_[1].get(); }
  void* workers() { return areas_[2].get(); }

  std::unique_ptr<module::Module> module_;
  std::vector<tensor::Border> inputs_, outputs_;
  pool::Pool pool_;
  std::vector<Memory> storage_;         // inputs, then outputs
  std::vector<void*> pointers_;         // into storage_
  std::vector<Memory> areas_;           // constants, workspace, workers
  std::vector<module::Area> touched_;   // all of these
  std::vector<module::Area> constant_;  // what is constant of them
};

}  // namespace lathe::api
