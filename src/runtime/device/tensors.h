// The tensors of a workload on a device, and what its candidates share.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "runtime/device/memory.h"
#include "runtime/tensor/layout.h"

namespace lathe::device {

// An input as it lies on the device, with a copy of what must stay there.
struct InputMemory {
  GuardedMemory memory;
  std::vector<std::byte> content;

  // Stores a row-major tensor as the border says.
  Status place(Memories& device, const tensor::Border& border, const std::byte* plain);
  // Fails with kRun where a candidate changed it or wrote beside it, and mends it.
  Status check();
};

struct Tensors {
  std::vector<tensor::Border> borders;  // of the inputs, row-major
  std::vector<std::vector<std::byte>> plain;
  std::vector<InputMemory> inputs;
  std::vector<GuardedMemory> outputs;
  GuardedMemory scratch;

  // Reads the inputs from a file as the runner's protocol has them (file_offsets()), and brings
  // them to the device. kDataLoss: the file is too short.
  Status read(Memories& device, const std::vector<tensor::Border>& inputs, int file);
};

// Reads so many bytes of an open file. kDataLoss: it has not so many.
Result<std::vector<std::byte>> read_open_file(int file, std::int64_t offset, std::int64_t bytes);

}  // namespace lathe::device
