#include "base/file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace lathe {

namespace fs = std::filesystem;

Status check_readable(const std::string& path) {
  if (path.empty())
    return fail(ErrorKind::kInvalidArgument, "the name of a file is empty; give one");
  std::error_code none;
  const fs::file_type type = fs::status(path, none).type();
  if (type != fs::file_type::character && type != fs::file_type::block) return {};
  return fail_at(path, ErrorKind::kIo, "this is a device, which may never end; give a file");
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  LATHE_TRY_STATUS(check_readable(path));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  std::string bytes;
  std::array<char, 1 << 16> part;
  while (file) {
    const std::size_t count = std::fread(part.data(), 1, part.size(), file.get());
    if (count == 0) break;
    if (count > most - bytes.size())
      return fail_at(path, ErrorKind::kIo,
                     "this holds more than {} bytes, the most that is read; give another file",
                     most);
    bytes.append(part.data(), count);
  }
  if (!file || std::ferror(file.get()))
    return fail_at(path, ErrorKind::kNotFound, "the file cannot be read ({})",
                   std::strerror(errno));
  return bytes;
}

bool write_and_close(int file, std::string_view bytes) {
  if (file < 0) return false;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  const int why = errno;
  const bool closed = ::close(file) == 0;
  if (!bytes.empty()) errno = why;
  return bytes.empty() && closed;
}

namespace {

// The file that a link of this user or of root names: it is replaced, so that the link itself
// stays. A link of somebody else, who could make it in a folder for all, leads nowhere.
std::string behind_links(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return path;
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

// Nobody who waits with a link can foresee it.
std::string pending_name(const std::string& path) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<std::uint64_t>(::getpid());
  return fmt::format("{}.{:016x}.tmp", path, number);
}

}  // namespace

PendingFile::PendingFile(const std::string& final_path)
    : final_(behind_links(final_path)), pending_(pending_name(final_)) {}

PendingFile::~PendingFile() {
  std::error_code ignored;
  fs::remove(pending_, ignored);
}

Status PendingFile::write(std::span<const std::byte> bytes) const {
  std::error_code none;
  const fs::file_status there = fs::status(final_, none);
  if (fs::exists(there) && !fs::is_regular_file(there))
    return fail_at(final_, ErrorKind::kIo,
                   "this is a device, a pipe or a folder and would be replaced; give another file");
  constexpr mode_t kAsTheUserWants = 0666;  // what the umask leaves of it
  const int file =
      ::open(pending_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kAsTheUserWants);
  if (!write_and_close(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    return fail_at(final_, ErrorKind::kIo, "the file cannot be written ({}); give another one",
                   std::strerror(errno));
  return {};
}

Status PendingFile::move_to_place() const {
  std::error_code error;
  fs::rename(pending_, final_, error);
  if (error)
    return fail_at(final_, ErrorKind::kIo, "the file cannot be replaced: {}", error.message());
  return {};
}

Status write_whole(const std::string& path, std::string_view bytes) {
  const PendingFile file(path);
  LATHE_TRY_STATUS(file.write(std::as_bytes(std::span(bytes))));
  return file.move_to_place();
}

}  // namespace lathe
