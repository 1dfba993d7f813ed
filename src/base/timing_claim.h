// Processes that time something on one machine at once disturb each other.
#pragma once

namespace lathe {

// Tells other processes of this user that this process times something, for as long as this object
// lives. It locks a file in the cache folder; the system drops the lock with the process.
class TimingClaim {
 public:
  TimingClaim();
  ~TimingClaim();
  TimingClaim(const TimingClaim&) = delete;
  TimingClaim& operator=(const TimingClaim&) = delete;

  // True if no other process had claimed the machine, and also where the file cannot be made, for
  // then nobody knows.
  bool alone() const { return alone_; }

 private:
  int file_ = -1;
  bool alone_ = true;
};

}  // namespace lathe
