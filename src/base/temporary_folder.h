// Folders in the system's temporary folder that go with whoever made them.
#pragma once

#include <string>

namespace lathe {

// A new folder, $TMPDIR/lathe-PROCESS-XXXXXX, locked and removed with everything in it when this
// object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }  // empty where none can be made

 private:
  std::string path_;
  int lock_ = -1;  // the folder itself, open
};

// Those that a killed process left behind: nobody holds their lock.
void remove_abandoned_folders();

}  // namespace lathe
