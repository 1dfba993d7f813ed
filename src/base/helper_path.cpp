#include "base/helper_path.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace lathe {
namespace {

std::string own_folder() {
  std::error_code code;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", code);
  return code ? std::string(".") : self.parent_path().string();
}

}  // namespace

Result<std::string> find_helper(std::string_view name) {
  std::vector<std::string> folders{own_folder()};
  if (const char* libexec = std::getenv("LATHE_LIBEXEC")) folders.emplace_back(libexec);
  folders.push_back(
      (std::filesystem::path(own_folder()) / "../libexec/lathe").lexically_normal().string());
  std::string looked;
  for (const auto& folder : folders) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (::access(path.c_str(), X_OK) == 0) return path;
    looked += (looked.empty() ? "" : ", ") + folder;
  }
  return fail(
      ErrorKind::kNotFound,
      "the program {} is not in {}; build or install it, or set LATHE_LIBEXEC to its folder", name,
      looked);
}

}  // namespace lathe
