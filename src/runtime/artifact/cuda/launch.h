// How a library for a card sees a caller's tensors and launches kernels on them.
#pragma once

#include <cstdint>

#include "runtime/artifact/check.h"
#include "runtime/artifact/cuda/handle.h"

namespace lathe::artifact {

// Where tensors of the handle have to be.
Place place_of(const lathe_handle& handle);
inline cuda::Address card_address_of(const DLTensor& tensor) {
  return static_cast<cuda::Address>(reinterpret_cast<std::uintptr_t>(address_of(tensor)));
}
// Whether memory that a caller calls the card's is: a kernel that writes to other memory would
// break its context, and with it all that the caller has there.
std::int32_t check_address(lathe_handle& handle, std::int64_t i, cuda::Address address);

// Gives some launches to a stream, which runs them in order.
std::int32_t launch(lathe_handle& handle, cuda::Stream stream, std::int64_t begin,
                    std::int64_t end);

}  // namespace lathe::artifact
