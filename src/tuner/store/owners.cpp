#include "tuner/store/owners.h"

#include <sys/stat.h>
#include <unistd.h>

namespace lathe::store {
namespace {

bool is_own(uid_t user) { return user == ::geteuid() || user == 0; }

}  // namespace

bool may_write(const std::string& path, std::optional<uid_t> user) {
  struct stat info{};
  if (user && is_own(*user)) return true;
  if (::stat(path.c_str(), &info) != 0) return false;
  return user == info.st_uid || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

Status check_owners(const std::string& path) {
  for (const char* end : {"", "-journal", "-wal", "-shm"}) {
    struct stat info{};
    const std::string file = path + end;
    if (::lstat(file.c_str(), &info) != 0 || is_own(info.st_uid)) continue;
    const bool link = S_ISLNK(info.st_mode);
    if (!link && (*end == '\0' || may_write(path, info.st_uid))) continue;
    return fail_at(
        file, ErrorKind::kIo,
        "another user put this {} there, and it would be {}; remove it if nobody uses the "
        "database now, or give another file with --db",
        link ? "link" : "file", link ? "followed" : "written into the database");
  }
  return {};
}

}  // namespace lathe::store
