#include "base/helper_path.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/own_path.h"
#include "base/split.h"
#include "base/trust.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// Where the `lathe` on the PATH is, through links; empty: there is none.
fs::path folder_of_the_command() {
  std::error_code code;
  const auto command = find_on_path("lathe");
  return command ? fs::canonical(*command, code).parent_path() : fs::path();
}

// The folders where helpers may be, each once.
std::vector<std::string> folders() {
  const fs::path program = program_path().parent_path(), own = own_library_path().parent_path();
  std::vector<std::string> out;
  const auto add = [&](const fs::path& folder) {
    if (folder.empty()) return;  // which would be the current one
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
  if (!program.empty()) add(program / "../libexec/lathe");
  if (const fs::path command = folder_of_the_command(); !command.empty())
    add(command / "../libexec/lathe");
  return out;
}

// What others can change may not; the first such stays in `refused`.
bool may_run(const std::string& path, std::optional<Error>& refused) {
  std::error_code code;
  if (::access(path.c_str(), X_OK) != 0 || !fs::is_regular_file(path, code)) return false;
  const Status own = check_unshared(path);
  if (!own && !refused) refused = own.error();
  return own.has_value();
}

}  // namespace

Result<std::string> find_on_path(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::optional<Error> refused;
  for (const auto& folder : split(path != nullptr ? path : "", ':')) {
    const fs::path program = fs::path(folder) / name;
    if (program.is_absolute() && may_run(program.string(), refused)) return program.string();
  }
  if (refused) return std::unexpected(*refused);
  return fail(ErrorKind::kNotFound, "there is no program {}", name);
}

Result<std::string> find_helper(std::string_view name) {
  std::string looked;
  std::optional<Error> refused;
  for (const auto& folder : folders()) {
    std::string path = (fs::path(folder) / name).string();
    if (may_run(path, refused)) return path;
    looked += (looked.empty() ? "" : ", ") + folder;
  }
  if (refused) return std::unexpected(*refused);
  return fail(
      ErrorKind::kNotFound,
      "the program {} is not in {}; build or install it, or set LATHE_LIBEXEC to its folder", name,
      looked);
}

}  // namespace lathe
