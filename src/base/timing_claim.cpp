#include "base/timing_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/environment.h"

namespace lathe {
TimingClaim::TimingClaim() {
  const std::string folder = cache_folder();
  if (folder.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  file_ = ::open((folder + "/timing.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  alone_ = file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  // Who is not alone still keeps who comes later from being so.
  if (file_ >= 0) ::flock(file_, LOCK_SH | LOCK_NB);
}

TimingClaim::~TimingClaim() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace lathe
