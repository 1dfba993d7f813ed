#include "base/helper_path.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/split.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_the_program() {
  std::error_code code;
  const auto self = fs::read_symlink("/proc/self/exe", code);
  return code ? fs::path(".") : self.parent_path();
}

// The folder of the shared library that contains this code, if there is one; else the executable's.
fs::path own_folder() {
  Dl_info info{};
  std::error_code code;
  if (::dladdr(reinterpret_cast<const void*>(&find_helper), &info) == 0) return {};
  if (info.dli_fname[0] != '/')
    return {};  // a relative name: the executable itself, as it was called
  return fs::canonical(info.dli_fname, code).parent_path();
}

// Where the `lathe` on the PATH is, through links; empty: there is none.
fs::path folder_of_the_command() {
  const char* path = std::getenv("PATH");
  std::error_code code;
  for (const auto& folder : split(path != nullptr ? path : "", ':')) {
    const fs::path command = fs::path(folder) / "lathe";
    if (!folder.empty() && ::access(command.c_str(), X_OK) == 0)
      return fs::canonical(command, code).parent_path();
  }
  return {};
}

// The folders where helpers may be, each once.
std::vector<std::string> folders() {
  const fs::path program = folder_of_the_program(), own = own_folder();
  std::vector<std::string> out;
  const auto add = [&](const fs::path& folder) {
    const std::string text = folder.lexically_normal().string();
    if (std::ranges::count(out, text) == 0) out.push_back(text);
  };
  // A library's own helpers before those of another Lathe beside the program that loads it.
  if (!own.empty() && own != program) {
    add(own / "../libexec/lathe");
    add(own / "../../libexec/lathe");  // where the library is in lib/x86_64-linux-gnu
  }
  add(program);
  if (const char* libexec = std::getenv("LATHE_LIBEXEC")) add(libexec);
  add(program / "../libexec/lathe");
  if (const fs::path command = folder_of_the_command(); !command.empty())
    add(command / "../libexec/lathe");
  return out;
}

}  // namespace

Result<std::string> find_helper(std::string_view name) {
  std::string looked;
  for (const auto& folder : folders()) {
    std::string path = (fs::path(folder) / name).string();
    if (::access(path.c_str(), X_OK) == 0) return path;
    looked += (looked.empty() ? "" : ", ") + folder;
  }
  return fail(
      ErrorKind::kNotFound,
      "the program {} is not in {}; build or install it, or set LATHE_LIBEXEC to its folder", name,
      looked);
}

}  // namespace lathe
