#include "base/timing_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/trust.h"

namespace lathe {
TimingClaim::TimingClaim() {
  const std::string folder = own_cache_folder();
  if (folder.empty()) return;
  file_ = ::open((folder + "/timing.lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                 S_IRUSR | S_IWUSR);
  alone_ = file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  // Who is not alone still keeps who comes later from being so.
  if (file_ >= 0) ::flock(file_, LOCK_SH | LOCK_NB);
}

TimingClaim::~TimingClaim() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace lathe
