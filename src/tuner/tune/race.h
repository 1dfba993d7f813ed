// The final race: "best" is only said of what won it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "tuner/measure/measure.h"
#include "tuner/store/store.h"

namespace lathe::tune {

// Records of one workload, target and cache mode, on this machine, by this code generator; a
// candidate each.
struct RaceEntry {
  store::Record record;
  measure::Candidate candidate;
};
struct RecordRace {
  std::vector<RaceEntry> entries;
  std::optional<std::size_t> defender;  // one of them
  std::optional<std::size_t> start;     // what there is without tuning
  CacheMode cache = CacheMode::kWarm;
  double seconds = 3, patience = 0, limit = 0;  // as measure::RaceOptions has them
  std::function<bool()> stop;
};
struct RaceStory {
  // false: stopped before it could say something; nothing is stored
  bool finished = false;
  bool disturbed = false;
  // of the machine beside it, a share of the fastest known
  double speed = 1;
  std::vector<measure::Racer> racers;  // in the order of the entries
};

// Races the records against each other, at the fastest speed that the store knows of this machine
// as far as there is patience, and stores what they reached and the machine's speed. The defender
// stays first unless another is faster by more than chance explains, and faster than `start`, too.
// Of those within each other's spread the one with the fewest loads a multiplication stands first:
// a neighbour on the machine costs it least.
Result<RaceStory> race_records(store::Store& store, measure::Measurer& measurer,
                               const RecordRace& request);

// Where among them `start` is, what there is without tuning.
std::optional<std::size_t> start_of(const std::vector<store::Record>& records, const Json& start);

// Whose place others have to win, of records with the best first: that of the winner of an earlier,
// undisturbed race, else of `start`, else of the winner of a disturbed race. Of trials alone some
// look fast by chance.
std::optional<std::size_t> defender_of(const std::vector<store::Record>& records,
                                       const Json& start);

// Which of them stands first by that rule; none where all failed.
std::optional<std::size_t> winner_of(const std::vector<measure::Racer>& racers,
                                     std::optional<std::size_t> defender = {},
                                     std::optional<std::size_t> start = {});

}  // namespace lathe::tune
