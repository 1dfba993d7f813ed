// The faults that are planted in right programs whose items share memory, and what the evaluator
// must say of each. This list and the seed came before the test that plants them.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/flat_eval.h"

namespace lathe::testing {

enum class Planted {
  kBarrierRemoved,
  kWaitRemoved,         // for asynchronous copies
  kOnePendingTooMany,   // in such a wait
  kOneStageTooFew,      // the ring that copies go round has one place less
  kTailMaskDropped,     // of a load, a copy or a store at the end of a row or column
  kVectorShiftedByOne,  // a vector's index
};

// One of these kinds is right, at a statement that touches the buffer that the fault is about.
struct PlantedKind {
  Planted fault;
  const char* name;
  std::vector<interp::FaultKind> right;
};

inline const std::vector<PlantedKind>& planted_kinds() {
  using enum interp::FaultKind;
  static const std::vector<PlantedKind> kKinds = {
      // Two items are no longer kept apart; where one of them awaited a copy, the other loads
      // early.
      {Planted::kBarrierRemoved, "barrier removed", {kRace, kEarly}},
      {Planted::kWaitRemoved, "wait removed", {kEarly}},
      {Planted::kOnePendingTooMany, "one pending too many", {kEarly}},
      // A copy begins over what items still load, its own item's loads included.
      {Planted::kOneStageTooFew, "one stage too few", {kRace, kEarly}},
      // A load behind the last row is outside of its buffer; so is a store, unless it is on a row
      // before, where another group stores.
      {Planted::kTailMaskDropped, "tail mask dropped", {kOutside, kRace}},
      {Planted::kVectorShiftedByOne, "vector index shifted by one", {kMisaligned}},
  };
  return kKinds;
}

// The program and the fault in it are drawn from this seed: first the kind among those that the
// program has a place for, then the place.
inline constexpr std::uint64_t kPlantedSeed = 20261128;
inline constexpr int kPlantedFaults = 300;

}  // namespace lathe::testing
