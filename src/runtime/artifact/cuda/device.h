// A card of NVIDIA as an exported library uses it, and its program there. Functions that return a
// status other than LATHE_OK have left a message.
#pragma once

#include <cstdint>

#include "runtime/artifact/cuda_program.h"
#include "runtime/artifact/message.h"
#include "runtime/device/cuda/functions.h"

namespace lathe::artifact {

struct CudaDevice {
  cuda::Api api;
  cuda::DeviceId id;
  cuda::Context context;
  bool keeps_primary;  // the context is the card's primary one, which this keeps
  cuda::Module module;
};

// Opens the driver's library, which then stays, and begins with it.
std::int32_t open_driver(CudaDevice& device, Message& message);
// The context that is current for this thread, with its card; where there is none, the primary
// context of the first card that the driver shows.
std::int32_t find_context(CudaDevice& device, Message& message);
// Loads the program in the current context, and finds a function for each launch: from the machine
// code for just this card, else from the PTX, which the driver translates.
std::int32_t load_kernels(CudaDevice& device, const lathe_cuda_program& program,
                          cuda::Function* functions, Message& message);
// Of no bytes: no memory.
std::int32_t allocate(const CudaDevice& device, std::int64_t bytes, cuda::Address& address,
                      Message& message);
// Fails where the stream is of another context.
std::int32_t check_stream(const CudaDevice& device, cuda::Stream stream, Message& message);

// What to return for a code of the driver that is not 0; the message says what could not be done.
std::int32_t failed(const CudaDevice& device, cuda::Code code, const char* what, Message& message);
// Adds what the driver calls a code, " (CUDA_ERROR_...)".
void add_name(const CudaDevice& device, cuda::Code code, Message& message);

// The context is this thread's current one while this lives.
class Current {
 public:
  Current(const CudaDevice& device, Message& message);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  std::int32_t status() const { return status_; }

 private:
  const CudaDevice& device_;
  std::int32_t status_;
};

}  // namespace lathe::artifact
