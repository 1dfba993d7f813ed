// How the tuning of a model shares its time: the turns of its tasks, the races of what they found,
// the last word. What is reserved for a later part no earlier one takes.
#pragma once

#include <cstddef>
#include <functional>

#include "base/clock.h"

namespace lathe::api {

using Clock = std::function<double()>;  // seconds, which only go forward

class TimeShares {
 public:
  // Of so many seconds from now on; 0: there is no limit.
  explicit TimeShares(double seconds, Clock clock = seconds_now);

  bool limited() const { return seconds_ > 0; }
  double elapsed() const { return clock_() - began_; }
  double left() const;  // seconds; infinite without a limit
  bool over() const { return left() < 0; }
  // What the last word needs before it exchanges anything, as far as it is known by now: it is kept
  // for that, but for no more than a third of the time.
  void reserve(double seconds);
  // Seconds until the turns have to end, so that races and the last word have their shares.
  double left_for_turns() const;
  // Seconds of the next race, where with it so many tasks wait for theirs; 0: too few for one.
  double left_for_race(std::size_t tasks) const;
  // What races on quiet machines take of the time, of so many tasks.
  double usual_race(std::size_t tasks) const;
  // Its share at least, however much others took, and all that is left.
  double left_for_last_word() const;

 private:
  double left_before(double share) const;

  double seconds_, reserved_ = 0;
  Clock clock_;
  double began_;
};

}  // namespace lathe::api
