// What is launched of a device's program, and the memory that its kernels get. Images of all kinds
// of devices hold this; only what their code is differs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace lathe::device {

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

// A kernel of the code on a grid. Launches run in order, each after the one before it is done.
struct Launch {
  std::string kernel;
  std::vector<Argument> arguments;              // in the order of the kernel's parameters
  std::array<std::int64_t, 3> groups{1, 1, 1};  // work groups along x, y and z
  std::array<std::int64_t, 3> items{1, 1, 1};   // work items of a group
  friend bool operator==(const Launch&, const Launch&) = default;
};

// What a program needs of a device besides its code.
struct Plan {
  std::vector<std::int64_t> inputs, outputs;  // bytes of each tensor's storage
  std::int64_t constant_bytes = 0, scratch_bytes = 0;
  std::vector<Launch> prepare, run;
  friend bool operator==(const Plan&, const Plan&) = default;
};

Json to_json(const Plan& plan);
// kInvalidArgument: it is none, or its launches name areas that it lacks.
Result<Plan> plan_from_json(const Json& json);

}  // namespace lathe::device
