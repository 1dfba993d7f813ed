#include "base/environment.h"

#include <cstdlib>

namespace lathe {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string cache_folder() {
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return cache + "/lathe";
  if (const auto home = environment("HOME"); !home.empty()) return home + "/.cache/lathe";
  return {};
}

}  // namespace lathe
