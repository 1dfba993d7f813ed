#include "base/own_path.h"

#include <dlfcn.h>

namespace lathe {

namespace fs = std::filesystem;

fs::path program_path() {
  std::error_code code;
  return fs::read_symlink("/proc/self/exe", code);
}

fs::path own_library_path() {
  Dl_info info{};
  std::error_code code;
  if (::dladdr(reinterpret_cast<const void*>(&own_library_path), &info) == 0) return {};
  if (info.dli_fname[0] != '/')
    return {};  // a relative name: the executable itself, as it was called
  const fs::path path = fs::canonical(info.dli_fname, code);
  return path == program_path() ? fs::path() : path;
}

}  // namespace lathe
