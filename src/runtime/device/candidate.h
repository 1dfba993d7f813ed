// A candidate on a device: its packed inputs, its constants, its place among what all candidates
// share, and the checks of what it did. A kind of device adds how its code is built and launched.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/launches/launches.h"
#include "runtime/device/memory.h"
#include "runtime/device/tensors.h"
#include "runtime/runner/engine.h"

namespace lathe::device {

// What candidates need of their engine.
struct Surroundings {
  Memories& memories;
  std::int64_t most_bytes;       // of a candidate's constants and scratch; 0: any number
  Tensors& tensors;              // of the workload, or of the candidate where `own` has them
  std::unique_ptr<Tensors> own;  // else null
  std::vector<tensor::Border> inputs, outputs;  // as the candidate stores them
};

// What a program asks for besides its code, as its image says.
struct Demands {
  std::vector<std::int64_t> inputs, outputs;  // bytes of each tensor's storage
  std::int64_t constant_bytes = 0, scratch_bytes = 0;
  std::vector<Launch> prepare, run;
};
template <class Image>
Demands demands_of(const Image& image) {
  return {image.inputs,        image.outputs, image.constant_bytes,
          image.scratch_bytes, image.prepare, image.run};
}

class Candidate : public runner::Runnable {
 public:
  Status begin(bool checked) final;
  Status check_memory() final;
  Result<const std::byte*> output(std::size_t number) final;
  std::int64_t resident_bytes() const final;
  double prepare_seconds() const final { return prepare_seconds_; }

 protected:
  Candidate(Surroundings around, Demands demands)
      : around_(std::move(around)), demands_(std::move(demands)) {}

  // Call these in turn: whether the demands fit the tensors; then, once the code is there, inputs
  // are packed and `prepare` is run.
  Status check_sizes() const;
  Status place();

  // Runs the launches of `prepare` and tells how many seconds they took.
  virtual Result<double> run_prepare() = 0;
  // Calls come, checked or not: memory_of() may tell another place than before.
  virtual Status bind(bool checked) = 0;

  const Demands& demands() const { return demands_; }
  Memories& memories() const { return around_.memories; }
  const GuardedMemory& memory_of(const Argument& argument) const;
  Handle part_of(const Argument& argument) const { return memory_of(argument).part(); }

 private:
  Status place_inputs();
  Status prepare();
  Tensors& tensors() const { return around_.own ? *around_.own : around_.tensors; }

  Surroundings around_;
  Demands demands_;
  std::vector<InputMemory> packed_;  // inputs that are not stored row-major; empty for the others
  GuardedMemory constants_;
  std::vector<std::byte> constants_then_;  // as prepare() left them, until they were checked
  std::vector<std::vector<std::byte>> read_outputs_;  // of the last call
  double prepare_seconds_ = 0;
};

}  // namespace lathe::device
