#include "base/trust.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/environment.h"
#include "base/own_path.h"
#include "base/shell.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

using Names = std::array<char, 1 << 16>;  // the longest entry of a user or group that is read

std::string user_name(uid_t user) {
  passwd entry{}, *found = nullptr;
  const auto names = std::make_unique<Names>();
  ::getpwuid_r(user, &entry, names->data(), names->size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(user);
}

// Root's group, or one that has the owner's name and no other member, as most users have.
bool only_the_owner_is_in(gid_t group, uid_t owner) {
  if (group == 0) return true;
  struct group entry{}, *found = nullptr;
  const auto names = std::make_unique<Names>();
  ::getgrgid_r(group, &entry, names->data(), names->size(), &found);
  const std::string name = user_name(owner);
  if (found == nullptr || found->gr_name != name) return false;
  for (char** member = found->gr_mem; *member != nullptr; ++member)
    if (*member != name) return false;
  return true;
}

// Its entries can give users rights that the mode does not show one by one.
bool has_access_list(const fs::path& path) {
  return ::lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool others_write(const fs::path& path, const struct stat& info) {
  if ((info.st_mode & S_IWOTH) != 0) return true;
  return (info.st_mode & S_IWGRP) != 0 &&
         (has_access_list(path) || !only_the_owner_is_in(info.st_gid, info.st_uid));
}

class SharingCheck {
 public:
  SharingCheck() : owners_{0, ::geteuid()} {
    struct stat info{};
    // Where users have other numbers inside, as in a container, root may have none.
    if (::stat("/", &info) == 0) owners_.push_back(info.st_uid);
    for (const fs::path& code : {program_path(), own_library_path()})
      if (!code.empty() && ::stat(code.c_str(), &info) == 0) {
        owners_.push_back(info.st_uid);
        own_code_.push_back(code);
      }
  }

  Status all(const std::string& path) {
    LATHE_TRY_STATUS(way_to(path));
    struct stat info{};
    if (::lstat(at_.c_str(), &info) != 0) return missing(at_);
    return unshared(at_, info, false);
  }

 private:
  static std::unexpected<Error> missing(const fs::path& path) {
    return fail_at(path.string(), ErrorKind::kNotFound, "it cannot be looked at ({})",
                   std::strerror(errno));
  }

  bool contains_own_code(const fs::path& folder) const {
    return std::ranges::any_of(own_code_, [&](const fs::path& code) {
      return std::ranges::mismatch(folder, code).in1 == folder.end();
    });
  }

  Status owned(const fs::path& path, const struct stat& info) const {
    if (std::ranges::count(owners_, info.st_uid) != 0) return {};
    const std::string word = shell_word(path.string());
    return fail_at(
        path.string(), ErrorKind::kIo,
        "this belongs to the user {}, who can change it; look at it, then use a copy of your "
        "own: `cp -RL {} COPY && chmod -R go-w COPY`",
        user_name(info.st_uid), word);
  }

  // In a folder with the sticky bit, others can add files but not replace them.
  Status unshared(const fs::path& path, const struct stat& info, bool sticky_will_do) const {
    LATHE_TRY_STATUS(owned(path, info));
    const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
    if ((sticky && sticky_will_do) || !others_write(path, info)) return {};
    return fail_at(path.string(), ErrorKind::kIo,
                   "others can write to this, and could put something of their own there; look at "
                   "it, then forbid that: `chmod go-w {}`",
                   shell_word(path.string()));
  }

  void look_ahead(const fs::path& path) { left_.insert(left_.begin(), path.begin(), path.end()); }

  // Goes from folder to folder and through links; at_ is then where the path leads.
  Status way_to(const std::string& path) {
    std::error_code code;
    look_ahead(fs::absolute(path, code));
    constexpr int kMostLinks = 40;
    int links = 0;
    while (!left_.empty()) {
      const fs::path name = left_.front();
      left_.pop_front();
      if (name == "..") at_ = at_.parent_path();
      else if (!name.empty() && name != ".") at_ /= name;  // "/" begins anew
      struct stat info{};
      if (::lstat(at_.c_str(), &info) != 0) return missing(at_);
      if (S_ISLNK(info.st_mode)) {
        LATHE_TRY_STATUS(owned(at_, info));
        if (++links > kMostLinks)
          return fail_at(path, ErrorKind::kNotFound, "the links lead in a circle");
        look_ahead(fs::read_symlink(at_, code));
        at_ = at_.parent_path();
      } else if (S_ISDIR(info.st_mode) && !contains_own_code(at_) && !left_.empty()) {
        LATHE_TRY_STATUS(unshared(at_, info, true));
      }
    }
    return {};
  }

  std::vector<uid_t> owners_;
  std::vector<fs::path> own_code_;
  fs::path at_ = "/";
  std::deque<fs::path> left_;
};

}  // namespace

Status check_unshared(const std::string& path) { return SharingCheck().all(path); }

Status make_private_folder(const std::string& path) {
  std::string made;
  for (const fs::path& name : fs::path(path)) {
    made = (fs::path(made) / name).string();
    if (::mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST && errno != EISDIR &&
        errno != EACCES && errno != EROFS)
      return fail_at(path, ErrorKind::kIo, "the folder cannot be made ({})", std::strerror(errno));
  }
  return check_unshared(path);
}

std::string own_cache_folder() {
  const std::string folder = cache_folder();
  return !folder.empty() && make_private_folder(folder) ? folder : std::string();
}

}  // namespace lathe
