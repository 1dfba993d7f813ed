// What is launched of a program on a device, of any kind whose kernels run on grids, and what its
// kernels get: a part of every image of such a program. Its text is JSON.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

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

// A kernel of the source on a grid. Launches run in order, each after the one before it is done.
struct Launch {
  std::string kernel;
  std::vector<Argument> arguments;              // in the order of the kernel's parameters
  std::array<std::int64_t, 3> groups{1, 1, 1};  // work groups along x, y and z
  std::array<std::int64_t, 3> items{1, 1, 1};   // work items of a group
  std::int64_t group_bytes = 0;                 // of a group's memory, that the launch asks for
  friend bool operator==(const Launch&, const Launch&) = default;
};

Json to_json(const std::vector<Launch>& launches);

// These throw std::exception, with a sentence, where the JSON is none of theirs.
std::vector<Launch> launches_from(const Json& json);
std::int64_t size_from(const Json& json);
std::vector<std::int64_t> sizes_from(const Json& json);

// The first fault of launches for so many tensors that their types do not show; empty: there is
// none.
std::string fault_of(const std::vector<Launch>& launches, std::size_t inputs, std::size_t outputs);

}  // namespace lathe::device
