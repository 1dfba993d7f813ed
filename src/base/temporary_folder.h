// Temporary folders that do not outlive their process.
#pragma once

#include <string>

namespace lathe {

// A new folder, $TMPDIR/lathe-temporary-PROCESS-XXXXXX, locked by this process. It is removed with
// everything in it when this object goes.
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

// Removes the folders that killed processes of this user left behind: nobody holds their lock.
// Waits up to one second for what such a process had started and what ends a moment later.
void remove_abandoned_folders();

}  // namespace lathe
