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
// A race has this many loads, if there is time for them.
inline constexpr std::size_t kFewestLoads = 3;

// One candidate in one round.
struct Lap {
  double seconds = 0;  // median of its calls
  bool counts = true;  // the scheduler left calls alone
  Speed speed;         // measured in the same round
  // How often all candidates had been loaded anew. Where memory lies makes programs some percent
  // slower or faster; it stays for all rounds of a load.
  int load = 0;
};

// How many times as long as another a racer takes, and the standard error of that.
struct Ratio {
  double value = 0, error = 0;
};
// The median over the rounds of both. The error is that of the rounds, but no less than that of the
// loads; of few loads one does not know how far they lie apart.
Ratio ratio_of(const std::vector<Lap>& laps, const std::vector<Lap>& other);

class Track {
 public:
  explicit Track(std::size_t racers, std::optional<std::size_t> defender = {})
      : laps_(racers), defender_(defender), failed_(racers), absent_(racers), retired_(racers) {}
  void add(std::size_t racer, const Lap& lap) { laps_[racer].push_back(lap); }
  void fail(std::size_t racer);
  void leave_out(std::size_t racer) { absent_[racer] = true; }
  // After a round: who is further behind the leader than near and chance explain retires, and the
  // others get its time; the defender where its loads explain it no more than its rounds. Where one
  // of the others failed in this round, all come back instead.
  void retire();
  bool runs(std::size_t racer) const;  // false if it failed, was left out or has retired

  // `known`, or what these laps saw where that is faster.
  Speed fastest(const Speed& known) const;
  // True if every racer that runs has this many laps. With `only_quiet` only those count in which
  // the machine was nearly as fast as `known`.
  bool all_have(std::size_t laps, bool only_quiet, const Speed& known) const;
  bool winner_is_clear(const Speed& known) const;
  // True if the leader is the defender, or faster than that for certain.
  bool defender_is_judged() const;
  // True if more laps would hardly move the medians of those that may still win.
  bool is_settled(const Speed& known) const;
  // Takes the quiet laps if each racer that runs has enough of them; else all laps, without what
  // all lost in their rounds, and says so. Who retired before it had enough of those that count is
  // as far behind the leader as it was in the rounds of both.
  RaceOutcome outcome(const Speed& known) const;

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
  bool is_behind(std::size_t racer, std::size_t leader) const;
  std::size_t common_rounds() const;  // that all who run have

  std::vector<std::vector<Lap>> laps_;  // by racer and round
  std::optional<std::size_t> defender_;
  std::vector<bool> failed_, absent_, retired_;
  bool runner_failed_ = false;  // since the last retire()
};

}  // namespace lathe::measure
