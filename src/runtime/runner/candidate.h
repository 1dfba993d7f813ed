// A candidate in the runner: its code, and the memory that is its own.
#pragma once

#include <memory>
#include <vector>

#include "runtime/module/abi.h"
#include "runtime/pool/pool.h"
#include "runtime/runner/channel.h"
#include "runtime/runner/guarded.h"
#include "runtime/tensor/layout.h"

namespace lathe::runner {

// The workload's inputs in plain order, shared by all candidates, read-only.
struct Inputs {
  std::vector<tensor::Border> borders;
  std::vector<GuardedBuffer> data;
};
Result<Inputs> read_inputs(const std::vector<tensor::Border>& borders, int file);

// Memory that whoever runs may use: one candidate runs at a time.
struct Scratch {
  std::vector<GuardedBuffer> outputs;
  GuardedBuffer workspace = GuardedBuffer::scratch(), workers = GuardedBuffer::scratch();
};

class Candidate {
 public:
  // Opens the library, checks what it says of itself, packs its inputs, runs prepare().
  static Result<std::unique_ptr<Candidate>> open(Fd library, std::vector<tensor::Border> inputs,
                                                 std::vector<tensor::Border> outputs,
                                                 const Inputs& plain, pool::Pool& pool);
  ~Candidate();

  // Points at the shared scratch; before every series of runs.
  Status bind(Scratch& scratch);
  void fill_scratch(Scratch& scratch);  // with NaN
  std::optional<std::string> damage(const Scratch& scratch) const;
  void run() {
    module_->run(pool_->runtime(), tensors_.data(), constants_.data(), workspace_, workers_);
  }
  // Throws everything it reads and writes out of the caches.
  void flush(const Scratch& scratch) const;
  void warm(const Scratch& scratch) const;  // brings it there

  const std::vector<tensor::Border>& outputs() const { return outputs_; }
  std::int64_t resident_bytes() const;
  double prepare_seconds() const { return prepare_seconds_; }

  double call_seconds = 0;  // of a call, about; 0: not known

 private:
  Candidate() = default;
  template <class Visit>
  void for_each_buffer(const Scratch& scratch, const Visit& visit) const;
  Status load();
  Status place_inputs(const Inputs& plain);
  Status prepare();

  // open as long as it is loaded: dlopen knows libraries by path
  Fd library_;
  void* handle_ = nullptr;
  const lathe_module* module_ = nullptr;
  pool::Pool* pool_ = nullptr;
  std::vector<tensor::Border> inputs_, outputs_;
  // inputs not stored plain; empty buffers for the others
  std::vector<GuardedBuffer> packed_;
  std::vector<std::int64_t> input_bytes_;
  GuardedBuffer constants_ = GuardedBuffer::scratch();
  std::vector<void*> tensors_;  // inputs, then outputs
  void* workspace_ = nullptr;
  void* workers_ = nullptr;
  double prepare_seconds_ = 0;
};

}  // namespace lathe::runner
