// OpenCL as a program sees it: the library is opened when it is needed, so that Lathe runs on
// machines without it.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "runtime/device/opencl/functions.h"

namespace lathe::opencl {

// Opens the library, which then stays: drivers do not survive being closed. Empty: the one that
// $LATHE_OPENCL_LIBRARY names, else kLibrary. A path is refused where others could change the file
// (base/trust.h). kNotFound: there is none, and what to install.
Result<std::shared_ptr<const Api>> open_api(const std::string& library = "");

// What the standard calls a code: "CL_OUT_OF_RESOURCES"; "code -9999" if it has no name there.
std::string name_of(Code code);

// Owns something that one of the functions makes; the last owner releases it.
template <class T>
using Owned = std::shared_ptr<std::remove_pointer_t<T>>;

}  // namespace lathe::opencl
