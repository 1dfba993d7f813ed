// What the handles of exported libraries for devices have alike.
#pragma once

#include <cstdint>

#include "runtime/artifact/device_program.h"
#include "runtime/artifact/message.h"

namespace lathe::artifact {

struct DeviceHandle {
  const lathe_device_program* program = nullptr;
  bool prepared = false;
  Message message;

  const lathe_artifact& artifact() const { return program->artifact; }
  const lathe_artifact_tensor& tensor(std::int64_t i) const { return artifact().tensors[i]; }
  std::int64_t inputs() const { return artifact().module->inputs; }
  std::int64_t count() const { return artifact().module->inputs + artifact().module->outputs; }
  std::int64_t launches() const { return program->prepare + program->run; }
  bool has_constants() const {
    for (std::int64_t i = 0; i < inputs(); ++i)
      if (tensor(i).constant) return true;
    return false;
  }
  // Whether a kernel of run() reads this input.
  bool is_read_by_run(std::int64_t input) const {
    for (std::int64_t l = program->prepare; l < launches(); ++l) {
      const lathe_launch& one = program->launches[l];
      for (std::int64_t a = 0; a < one.count; ++a)
        if (one.arguments[2 * a] == LATHE_AREA_INPUT && one.arguments[2 * a + 1] == input)
          return true;
    }
    return false;
  }

  // These leave a sentence in the message and return a status.
  std::int32_t refuse(std::int32_t status, const char* why) {
    message.clear();
    message.add(why);
    return status;
  }
  std::int32_t refuse_tensor(std::int64_t i, const char* why) {
    message.clear();
    message.add("tensor \"").add(tensor(i).name).add("\" ").add(why);
    return LATHE_INVALID_ARGUMENT;
  }
  std::int32_t refuse_overlap(std::int64_t a, std::int64_t b) {
    message.clear();
    message.add("tensors \"").add(tensor(a).name).add("\" and \"").add(tensor(b).name);
    message.add("\" overlap in memory");
    return LATHE_INVALID_ARGUMENT;
  }
};

// The work items of a group; they were counted when the program was made, so the product is small.
inline std::int64_t items_of(const lathe_launch& launch) {
  return launch.items[0] * launch.items[1] * launch.items[2];
}

}  // namespace lathe::artifact
