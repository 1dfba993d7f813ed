// A new folder for what another user must neither see nor have prepared.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

// The folder PREFIX-XXXXXX, which nobody could have made before, with mode 0700. It stays.
class PrivateFolder {
 public:
  static Result<PrivateFolder> make(const std::string& prefix);
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder();

  const std::string& path() const { return path_; }
  // Makes a file of mode 0600 in it. The name must be new.
  Status write(const std::string& name, std::string_view bytes) const;

 private:
  PrivateFolder(std::string path, int folder) : path_(std::move(path)), folder_(folder) {}

  std::string path_;
  int folder_;  // open: another folder under that name would not be written to
};

}  // namespace lathe
