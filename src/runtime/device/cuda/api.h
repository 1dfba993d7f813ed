// NVIDIA's driver as a program sees it: its library is opened when it is needed, so that Lathe runs
// on machines without it.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "runtime/device/cuda/functions.h"

namespace lathe::cuda {

// Opens the library and begins with it; it then stays. Empty: the one that $LATHE_CUDA_LIBRARY
// names, else kLibrary. A path is refused where others could change the file (base/trust.h).
// kNotFound: there is none, it is too old, or it finds no card; and what to do.
Result<std::shared_ptr<const Api>> open_api(const std::string& library = "");

// What the driver calls a code: "CUDA_ERROR_OUT_OF_MEMORY"; "code 12345" if it has no name.
std::string name_of(const Api& api, Code code);

// Owns something that one of the functions makes; the last owner releases it.
template <class T>
using Owned = std::shared_ptr<std::remove_pointer_t<T>>;

}  // namespace lathe::cuda
