// Checks what a caller hands over against what an artifact wants.
#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/message.h"

namespace lathe::artifact {

// Where tensors have to be.
struct Place {
  DLDevice device;
  std::int64_t
      alignment;  // bytes that data begins at a multiple of, if those of an element are less
};
inline constexpr Place kInProcessor{{kDLCPU, 0}, 1};

// Checks shape, type, device, layout, data and its alignment. Where it returns false, the message
// says what is wrong with which tensor.
bool check_tensor(const lathe_artifact_tensor& want, const DLTensor* tensor, Message& message,
                  const Place& place = kInProcessor);
// True if the processor reaches what is on this device.
inline bool is_of_processor(const DLDevice& device) {
  return device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
}

// The address of the tensor's first element.
inline char* address_of(const DLTensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// True if this processor and the system have the instructions of these LATHE_CPU_ bits; else the
// message names the first that is missing.
bool check_cpu(std::int64_t needed, Message& message);

}  // namespace lathe::artifact
