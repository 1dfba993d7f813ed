#include "tuner/space/rules/cuda/cuda_context.h"

namespace lathe::space {

OpenClTarget as_device(const CudaTarget& card) {
  constexpr int kFloat = 4;
  OpenClTarget device{.name = card.name};
  device.compute_units = card.multiprocessors;
  device.group_items = card.block_threads;
  device.local_bytes = card.block_bytes;
  device.local_is_real = true;
  device.vector_width = card.lanes(kFloat);
  device.fp16 = device.fp64 = true;
  return device;
}

}  // namespace lathe::space
