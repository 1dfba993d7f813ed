// Programs that time something on a machine at once disturb each other.
#pragma once

namespace lathe {

// Tells other processes of this user that this one times something, for as long as it lives: a lock
// on a file in the cache folder, which the system drops with the process.
class TimingClaim {
 public:
  TimingClaim();
  ~TimingClaim();
  TimingClaim(const TimingClaim&) = delete;
  TimingClaim& operator=(const TimingClaim&) = delete;

  // No other process had claimed the machine. True where the file cannot be made: nobody knows
  // then.
  bool alone() const { return alone_; }

 private:
  int file_ = -1;
  bool alone_ = true;
};

}  // namespace lathe
