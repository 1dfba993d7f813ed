#include "base/temporary_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "lathe-";

// The process in "lathe-PROCESS-XXXXXX"; 0: another name.
pid_t maker_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  const bool whole = error == std::errc() && name.data() + name.size() - end == 7 && *end == '-';
  return whole && process > 0 ? process : 0;
}

int locked(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  if (::flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
  ::close(folder);
  return -1;
}

bool is_gone(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  if (error) return;
  std::string pattern =
      place.string() + "/" + std::string(kPrefix) + std::to_string(::getpid()) + "-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return;
  path_ = pattern;
  lock_ = locked(path_);
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
    const pid_t maker = maker_of(entry->path().filename().string());
    if (maker == 0 || !is_gone(maker)) continue;
    const int lock = locked(entry->path().string());
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(entry->path(), ignored);
    ::close(lock);
  }
}

}  // namespace lathe
