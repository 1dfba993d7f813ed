#include "runtime/device/opencl/api.h"

#include <dlfcn.h>

#include "base/environment.h"
#include "base/trust.h"

namespace lathe::opencl {

Result<std::shared_ptr<const Api>> open_api(const std::string& library) {
  const std::string named = library.empty() ? environment("LATHE_OPENCL_LIBRARY") : library;
  const std::string name = named.empty() ? kLibrary : named;
  if (name.contains('/')) LATHE_TRY_STATUS(check_unshared(name));
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(ErrorKind::kNotFound,
                "OpenCL's library cannot be opened ({}); install ocl-icd-libopencl1 and the "
                "device's driver, or pocl-opencl-icd to run OpenCL programs on the processor",
                ::dlerror());
  auto api = std::make_shared<Api>();
  if (const char* missing = find_functions(handle, *api))
    return fail(ErrorKind::kUnsupported,
                "OpenCL's library {} has no {}; install one of version 1.2 or later, as "
                "ocl-icd-libopencl1",
                name, missing);
  return api;
}

std::string name_of(Code code) {
  const char* const name = standard_name(code);
  return name != nullptr ? name : fmt::format("code {}", code);
}

}  // namespace lathe::opencl
