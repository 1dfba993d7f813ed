// What prepare() of a library for a card does: it checks constants, and keeps on the card what it
// makes of them.
#pragma once

#include <cstdint>

#include "runtime/artifact/cuda/handle.h"

namespace lathe::artifact {

// Constants may be on the card or in the processor's memory.
std::int32_t check_constants(lathe_handle& handle, const DLTensor* const* inputs);
// prepare() waits, which a stream that is captured cannot.
std::int32_t check_capture(lathe_handle& handle, cuda::Stream stream);
// The constants were checked.
std::int32_t prepare(lathe_handle& handle, const DLTensor* const* inputs, cuda::Stream stream);
// What depends on no input is computed.
std::int32_t prepare_without_constants(lathe_handle& handle);

void release(const CudaDevice& device, cuda::Address& address);

}  // namespace lathe::artifact
