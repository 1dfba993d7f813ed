// Temporary folders that do not outlive their process.
#pragma once

#include <string>

#include "base/result.h"

namespace lathe {

// A new folder, $TMPDIR/lathe-temporary-PROCESS-XXXXXX, locked by this process. It is removed with
// everything in it when this object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  // Empty where none can be made, or where others could replace what is in it.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  // the folder itself, open
};

Error no_temporary_folder();  // why the path is empty

// Removes the folders that killed processes of this user left behind: nobody holds their lock.
// Waits up to one second for what such a process had started and what ends a moment later.
void remove_abandoned_folders();

}  // namespace lathe
