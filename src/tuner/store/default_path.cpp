#include "base/environment.h"
#include "tuner/store/store.h"

namespace lathe::store {

std::string path_in_data_folder() {
  if (const auto data = environment("XDG_DATA_HOME"); !data.empty())
    return data + "/lathe/records.db";
  if (const auto home = home_folder(); !home.empty())
    return home + "/.local/share/lathe/records.db";
  return "lathe.db";
}

std::string default_path() {
  const auto path = environment("LATHE_DB");
  return path.empty() ? path_in_data_folder() : path;
}

}  // namespace lathe::store
