#include "base/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "base/trust.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "lathe-temporary-";

constexpr int kTries = 100;
constexpr auto kPause = std::chrono::milliseconds(10);

// The process of "lathe-temporary-PROCESS-XXXXXX", or 0 where a name is another one.
pid_t process_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  const bool ours =
      error == std::errc() && process > 0 && name.data() + name.size() - end == 7 && *end == '-';
  return ours ? process : 0;
}

// The folder, open and locked, or -1 with errno.
int locked(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return -1;
  if (::flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
  const int refused = errno;
  ::close(folder);
  errno = refused;
  return -1;
}

bool is_own(int folder) {
  struct stat info{};
  return ::fstat(folder, &info) == 0 && info.st_uid == ::geteuid();
}

bool ended(pid_t process) { return ::kill(process, 0) < 0 && errno == ESRCH; }

// Tells whether a folder of a process that has ended is still there: what that process started may
// hold it or write to it for a moment.
bool remove_now() {
  bool some_left = false;
  std::error_code error;
  for (fs::directory_iterator entry(fs::temp_directory_path(error), error), end;
       !error && entry != end; entry.increment(error)) {
    const pid_t process = process_of(entry->path().filename().string());
    if (process == 0 || !ended(process)) continue;
    const int lock = locked(entry->path().string());
    std::error_code failed;
    if (lock >= 0) {
      if (is_own(lock)) fs::remove_all(entry->path(), failed);
      ::close(lock);
    }
    const bool busy = lock < 0 ? errno == EWOULDBLOCK : failed == std::errc::directory_not_empty;
    some_left = some_left || busy;
  }
  return some_left;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  if (error) return;
  const std::string prefix =
      place.string() + "/" + std::string(kPrefix) + std::to_string(::getpid());
  // Somebody may take it for an abandoned one until it is locked. Then another one is made.
  for (int i = 0; i < kTries; ++i) {
    std::string made = prefix + "-XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) return;
    lock_ = locked(made);
    const bool taken = (lock_ < 0 && errno == EWOULDBLOCK) || !fs::exists(made, error);
    if (!taken && check_unshared(made)) path_ = made;
    else if (!taken) fs::remove(made, error);
    if (!taken) return;
    if (lock_ >= 0) ::close(std::exchange(lock_, -1));
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

Error no_temporary_folder() {
  return {ErrorKind::kIo,
          "cannot make a temporary folder; set TMPDIR to a folder that you can write to and where "
          "others cannot replace what is yours (a shared one needs the sticky bit: chmod +t)",
          {}};
}

void remove_abandoned_folders() {
  for (int i = 0; i < kTries && remove_now(); ++i) std::this_thread::sleep_for(kPause);
}

}  // namespace lathe
