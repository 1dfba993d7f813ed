// What the OpenCL back end makes of a program, and what whoever runs it needs: C text, the areas of
// memory, and what is launched in which order. Its bytes are JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::opencl {

// Memory on the device that kernels get as a pointer. Of inputs and outputs, one for each tensor.
enum class Area {
  kInput,
  kOutput,
  kConstant,  // filled by the launches of `prepare`, and kept
  kScratch,   // of one run
};
struct Argument {
  Area area = Area::kInput;
  int position = 0;  // among the inputs or outputs; else 0
  friend bool operator==(const Argument&, const Argument&) = default;
};

// A kernel of the source on a grid. Launches run in order, each after the one before it is done.
struct Launch {
  std::string kernel;
  std::vector<Argument> arguments;              // in the order of the kernel's parameters
  std::array<std::int64_t, 3> groups{1, 1, 1};  // work groups along x, y and z
  std::array<std::int64_t, 3> items{1, 1, 1};   // work items of a group
  friend bool operator==(const Launch&, const Launch&) = default;
};

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
