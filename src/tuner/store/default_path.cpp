#include "base/environment.h"
#include "tuner/store/store.h"

namespace lathe::store {
std::string default_path() {
  if (const auto path = environment("LATHE_DB"); !path.empty()) return path;
  if (const auto data = environment("XDG_DATA_HOME"); !data.empty()) return data + "/lathe/records.db";
  if (const auto home = environment("HOME"); !home.empty()) return home + "/.local/share/lathe/records.db";
  return "lathe.db";
}

}  // namespace lathe::store
