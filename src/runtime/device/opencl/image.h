// What the OpenCL back end makes of a program, and what whoever runs it needs: C text, the areas of
// memory, and what is launched in which order. Its bytes are JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/device/launches/launches.h"

namespace lathe::opencl {

using device::Area;
using device::Argument;
using device::Launch;

struct Image {
  std::string source;                         // OpenCL C 1.2
  std::string options;                        // for the compiler: "-cl-std=CL1.2"
  std::vector<std::string> extensions;        // that the source enables: "cl_khr_fp16"
  std::vector<std::int64_t> inputs, outputs;  // bytes of each tensor's storage
  std::int64_t constant_bytes = 0, scratch_bytes = 0;
  std::int64_t local_bytes = 0;  // the most local memory that a launch uses
  std::vector<Launch> prepare, run;
  friend bool operator==(const Image&, const Image&) = default;
};

std::vector<std::byte> bytes_of(const Image& image);
// Says what is wrong with bytes that are no image, or one whose launches name areas that it lacks.
Result<Image> image_from(std::span<const std::byte> bytes);

}  // namespace lathe::opencl
