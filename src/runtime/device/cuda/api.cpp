#include "runtime/device/cuda/api.h"

#include <dlfcn.h>

#include "base/environment.h"
#include "base/trust.h"

namespace lathe::cuda {
namespace {

constexpr const char* kInstall = "install NVIDIA's driver for this machine's card";

std::string cuda_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Status begin(const Api& api, const std::string& name) {
  int version = 0;
  if (const Code code = api.DriverGetVersion(&version); code != 0)
    return fail(ErrorKind::kNotFound, "{} does not tell its version ({}); {}", name,
                name_of(api, code), kInstall);
  if (version < kOldestCuda)
    return fail(ErrorKind::kNotFound,
                "NVIDIA's driver is too old: it knows CUDA {}, and {} is the oldest that will do; "
                "install a newer driver",
                cuda_text(version), cuda_text(kOldestCuda));
  const Code code = api.Init(0);
  if (code == 0) return {};
  if (code == kNoDevice)
    return fail(ErrorKind::kNotFound,
                "NVIDIA's driver finds no card ({}); look at CUDA_VISIBLE_DEVICES and at what "
                "nvidia-smi lists",
                name_of(api, code));
  return fail(ErrorKind::kNotFound,
              "NVIDIA's driver does not begin ({}); nvidia-smi may tell more of it",
              name_of(api, code));
}

}  // namespace

Result<std::shared_ptr<const Api>> open_api(const std::string& library) {
  const std::string named = library.empty() ? environment("LATHE_CUDA_LIBRARY") : library;
  const std::string name = named.empty() ? kLibrary : named;
  if (name.contains('/')) LATHE_TRY_STATUS(check_unshared(name));
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(ErrorKind::kNotFound, "the library of NVIDIA's driver cannot be opened ({}); {}",
                ::dlerror(), kInstall);
  auto api = std::make_shared<Api>();
  if (const char* missing = find_functions(handle, *api))
    return fail(ErrorKind::kNotFound,
                "{} has no {}; install a driver of NVIDIA that knows CUDA {} or newer", name,
                missing, cuda_text(kOldestCuda));
  LATHE_TRY_STATUS(begin(*api, name));
  return api;
}

std::string name_of(const Api& api, Code code) {
  const char* name = nullptr;
  if (api.GetErrorName(code, &name) != 0 || name == nullptr) return fmt::format("code {}", code);
  return name;
}

}  // namespace lathe::cuda
