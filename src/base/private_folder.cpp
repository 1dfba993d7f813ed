#include "base/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/file.h"

namespace lathe {
namespace {

constexpr auto kWhy = "a private folder cannot be made here ({}); make room or give another place";

bool is_new_and_own(int folder) {
  struct stat info{};
  return ::fstat(folder, &info) == 0 && info.st_uid == ::geteuid() && (info.st_mode & 0077) == 0;
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make(const std::string& prefix) {
  std::string path = prefix + "-XXXXXX";
  const int made = ::mkdtemp(path.data()) == nullptr
                       ? -1
                       : ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (made < 0) return fail_at(prefix, ErrorKind::kIo, kWhy, std::strerror(errno));
  PrivateFolder folder(std::move(path), made);
  if (is_new_and_own(made)) return folder;
  return fail_at(prefix, ErrorKind::kIo, kWhy, "another user replaced it");
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::move(other.path_)), folder_(std::exchange(other.folder_, -1)) {}

PrivateFolder::~PrivateFolder() {
  if (folder_ >= 0) ::close(folder_);
}

Status PrivateFolder::write(const std::string& name, std::string_view bytes) const {
  const int file =
      ::openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
               S_IRUSR | S_IWUSR);
  if (write_and_close(file, bytes)) return {};
  return fail_at(path_ + "/" + name, ErrorKind::kIo, "the file cannot be written ({})",
                 std::strerror(errno));
}

}  // namespace lathe
