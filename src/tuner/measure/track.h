// Tells what the rounds of a race say, which of them count, and who may still win. Internal to this
// room.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tuner/measure/session.h"

namespace lathe::measure {

// Each candidate gets this many rounds, if there is time for them.
inline constexpr std::size_t kFewestRounds = 5;
inline constexpr std::size_t kFewestQuiet = 3;  // undisturbed laps that make a race undisturbed

// One candidate in one round.
struct Lap {
  double seconds = 0;  // median of its calls
  bool counts = true;  // the scheduler left calls alone
  Speed speed;         // measured in the same round
};

class Track {
 public:
  explicit Track(std::size_t racers)
      : laps_(racers), failed_(racers), absent_(racers), retired_(racers) {}
  void add(std::size_t racer, const Lap& lap) { laps_[racer].push_back(lap); }
  void fail(std::size_t racer);
  void leave_out(std::size_t racer) { absent_[racer] = true; }
  // After a round: who is further behind the leader than near and chance explain retires, and the
  // others get its time. Where one of the others failed in this round, all come back instead.
  void retire();
  bool runs(std::size_t racer) const;  // false if it failed, was left out or has retired

  // `known`, or what these laps saw where that is faster.
  Speed fastest(const Speed& known) const;
  // True if every racer that runs has this many laps. With `only_quiet` only those count in which
  // the machine was nearly as fast as `known`.
  bool all_have(std::size_t laps, bool only_quiet, const Speed& known) const;
  bool winner_is_clear(const Speed& known) const;
  // True if more laps would hardly move the medians of those that may still win.
  bool is_settled(const Speed& known) const;
  // Takes the quiet laps if each racer that runs has enough of them; else all laps, without what
  // all lost in their rounds, and says so. Who retired before it had enough of those that count is
  // as far behind the leader as it was in the rounds of both.
  RaceOutcome outcome(const Speed& known, std::optional<std::size_t> defender = {}) const;

 private:
  bool quiet(const Lap& lap, const Speed& known) const;
  std::vector<double> times(std::size_t racer, bool only_quiet, const Speed& known) const;
  // Its laps in the rounds that all who run have, each over how much longer the others took in that
  // round than in their middle one.
  std::vector<double> undisturbed(std::size_t racer) const;
  // Of those that run the one with the least median of undisturbed laps.
  std::optional<std::size_t> leader() const;
  // How many times as long as the other it took in each round of both.
  std::vector<double> ratios(std::size_t racer, std::size_t other) const;
  std::size_t common_rounds() const;  // that all who run have

  std::vector<std::vector<Lap>> laps_;  // by racer and round
  std::vector<bool> failed_, absent_, retired_;
  bool runner_failed_ = false;  // since the last retire()
};

}  // namespace lathe::measure
