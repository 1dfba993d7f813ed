#include "base/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "lathe-";

// True for "lathe-PROCESS-XXXXXX", false for "lathe-new-XXXXXX", which is not locked yet.
bool is_of_a_process(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  return error == std::errc() && process > 0 && name.data() + name.size() - end == 7 && *end == '-';
}

int locked(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  if (::flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
  ::close(folder);
  return -1;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  if (error) return;
  const std::string prefix = place.string() + "/" + std::string(kPrefix);
  std::string made = prefix + "new-XXXXXX";
  if (::mkdtemp(made.data()) == nullptr) return;
  lock_ = locked(made);
  path_ = prefix + std::to_string(::getpid()) + made.substr(made.size() - 7);
  if (::rename(made.c_str(), path_.c_str()) != 0) path_ = made;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void remove_abandoned_folders() {
  std::error_code error;
  for (fs::directory_iterator entry(fs::temp_directory_path(error), error), end;
       !error && entry != end; entry.increment(error)) {
    if (!is_of_a_process(entry->path().filename().string())) continue;
    const int lock = locked(entry->path().string());
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(entry->path(), ignored);
    ::close(lock);
  }
}

}  // namespace lathe
