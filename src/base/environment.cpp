#include "base/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace lathe {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_folder() {
  if (auto home = environment("HOME"); !home.empty()) return home;
  const passwd* user = getpwuid(getuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

std::string cache_folder() {
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return cache + "/lathe";
  if (const auto home = home_folder(); !home.empty()) return home + "/.cache/lathe";
  return {};
}

}  // namespace lathe
