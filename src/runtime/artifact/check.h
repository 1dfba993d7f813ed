// Checks what a caller hands over against what an artifact wants.
#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/message.h"

namespace lathe::artifact {

// Checks shape, type, device, layout, data and its alignment. Where it returns false, the message
// says what is wrong with which tensor.
bool check_tensor(const lathe_artifact_tensor& want, const DLTensor* tensor, Message& message);

// The address of the tensor's first element.
inline char* address_of(const DLTensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// True if this processor and the system have the instructions of these LATHE_CPU_ bits; else the
// message names the first that is missing.
bool check_cpu(std::int64_t needed, Message& message);

}  // namespace lathe::artifact
