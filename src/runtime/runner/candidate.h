// A candidate in the runner: its code and its own memory.
#pragma once

#include <memory>
#include <vector>

#include "runtime/module/caches.h"
#include "runtime/module/module.h"
#include "runtime/pool/pool.h"
#include "runtime/runner/channel.h"
#include "runtime/runner/guarded.h"
#include "runtime/tensor/layout.h"

namespace lathe::runner {

// The workload's inputs in row-major order, shared by all candidates and read-only.
struct Inputs {
  std::vector<tensor::Border> borders;
  std::vector<GuardedBuffer> data;
  std::int64_t shift = 0;  // of these and of all that a caller would bring
};
Result<Inputs> read_inputs(const std::vector<tensor::Border>& borders, int file,
                           std::int64_t shift = 0);

// Memory that all candidates share: only one runs at a time.
struct Scratch {
  std::vector<GuardedBuffer> outputs;
  GuardedBuffer workspace = GuardedBuffer::scratch(), workers = GuardedBuffer::scratch();
};

class Candidate {
 public:
  // Opens the library, checks its table, packs its inputs and runs prepare().
  static Result<std::unique_ptr<Candidate>> open(Fd library, std::vector<tensor::Border> inputs,
                                                 std::vector<tensor::Border> outputs,
                                                 const Inputs& plain, pool::Pool& pool);

  // Points the candidate at the shared scratch; call it before every series of runs.
  Status bind(Scratch& scratch);
  // Of all buffers but the inputs that candidates share.
  Status set_guarded(Scratch& scratch, bool guarded);
  void fill_scratch(Scratch& scratch);  // with NaN
  std::optional<std::string> damage(const Scratch& scratch) const;
  void run() {
    module_->run(pool_->runtime(), tensors_.data(), constants_.data(), workspace_, workers_);
  }
  // True if a call with such caches has to begin with flush().
  bool empties(CacheMode cache) const;
  // Throws out of the caches what they must not have: all that the candidate reads and writes, or
  // what is constant.
  void flush(CacheMode cache, const Scratch& scratch) const;
  void warm(const Scratch& scratch) const;  // brings it into the caches

  const std::vector<tensor::Border>& outputs() const { return outputs_; }
  std::int64_t resident_bytes() const;
  double prepare_seconds() const { return prepare_seconds_; }

  double call_seconds = 0;  // of one call, roughly; 0: not known

 private:
  Candidate() = default;
  // All that a call reads and writes.
  std::vector<module::Area> areas(const Scratch& scratch) const;
  std::vector<module::Area> constant_areas() const;
  Status load(Fd library);
  Status place_inputs(const Inputs& plain);
  Status prepare();

  std::unique_ptr<module::Module> library_;
  const lathe_module* module_ = nullptr;  // of the library
  pool::Pool* pool_ = nullptr;
  std::vector<tensor::Border> inputs_, outputs_;
  std::int64_t shift_ = 0;  // as Inputs have it
  // Inputs that are not stored row-major; empty buffers for the others.
  std::vector<GuardedBuffer> packed_;
  std::vector<std::int64_t> input_bytes_;
  GuardedBuffer constants_ = GuardedBuffer::scratch();
  std::vector<void*> tensors_;  // inputs, then outputs
  void* workspace_ = nullptr;
  void* workers_ = nullptr;
  double prepare_seconds_ = 0;
};

}  // namespace lathe::runner
