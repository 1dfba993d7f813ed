// What the back end for cards makes of a program, and what whoever runs it needs: PTX, the areas of
// memory, and what is launched in which order. Its bytes are JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/device/launches/launches.h"

namespace lathe::cuda {

using device::Area;
using device::Argument;
using device::Launch;

// A launch asks for its group_bytes as dynamic shared memory: those of a kernel that has static
// shared memory are 0. Where they are more than 48 KB, the function's attribute must allow them.
struct Image {
  std::string ptx;
  int architecture = 0;                       // that the PTX is for: 80 for sm_80
  std::vector<std::int64_t> inputs, outputs;  // bytes of each tensor's storage
  std::int64_t constant_bytes = 0, scratch_bytes = 0;
  std::vector<Launch> prepare, run;
  friend bool operator==(const Image&, const Image&) = default;
};

std::vector<std::byte> bytes_of(const Image& image);
// Says what is wrong with bytes that are no image, or one whose launches name areas that it lacks.
Result<Image> image_from(std::span<const std::byte> bytes);

}  // namespace lathe::cuda
