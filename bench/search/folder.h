// A folder that is removed when this object goes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lathe::bench {

class Folder {
 public:
  Folder() {
    path_ = (std::filesystem::temp_directory_path() / "lathe-bench-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) path_ = ".";
    else made_ = true;
  }
  ~Folder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool made_ = false;
};

}  // namespace lathe::bench
