// What the NVPTX back end makes of a program, and what whoever runs it needs: PTX, machine code
// where somebody has assembled it, the areas of memory, and what is launched in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/device/launch.h"

namespace lathe::cuda {

// What assembling told of a kernel.
struct Resources {
  std::string kernel;
  int registers = 0;               // of a thread
  std::int64_t spilled_bytes = 0;  // of a thread's local memory that registers did not hold
  std::int64_t shared_bytes = 0;   // of a block, without those that the launch adds
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct Image {
  std::string ptx;  // text; never empty
  // Machine code for `architecture` ("sm_90a"), which needs no assembling; or both are empty.
  std::string code, architecture;
  std::vector<Resources> resources;  // in the order of the kernels; empty: not assembled
  // Bytes of shared memory that launches of a kernel add to what it declares: for each launch of
  // `plan.prepare`, then of `plan.run`. Empty: none.
  std::vector<std::int64_t> shared_bytes;
  device::Plan plan;
  friend bool operator==(const Image&, const Image&) = default;
};

std::vector<std::byte> bytes_of(const Image& image);
// Says what is wrong with bytes that are no image.
Result<Image> image_from(std::span<const std::byte> bytes);

}  // namespace lathe::cuda
