// How a step refuses.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace lathe::schedule {

// Why a step cannot be applied. A search meets refusals all the time, so words are made only in
// text().
enum class Refusal : std::uint8_t {
  kNoSuchLoop,
  kNoSuchBlock,
  kNoSuchBuffer,
  kNameTaken,
  kBadFactor,
  kNotPositive,
  kNotNested,
  kNotOnOnePath,
  kFusesKinds,
  kBreaksDependence,
  kNotAReduction,
  kIsAReduction,
  kNotElementwise,
  kIsOutput,
  kNotUsedThere,
  kPlainBorder,
  kBadLayout,
  kReductionInParallel,
  kAlreadyBound,
  kShiftRepeatsReduction,
  kPadNeedsOwnStorage,
  kIntrinsicMismatch,
  kIntrinsicTypes,
  kIntrinsicExtents,
  kIntrinsicTail,
  kNotInnermost,
  kBadScope,
  kMultipleConsumers,
  kBadNumber,
  kTooFewLoops,
  kNamedTwice,
  kThereAlready,
  kBadDimension,
  kNotAlike,
  kNoNeighbours,
  kNotAsWritten,
  kBadTile,
  kNotOneAxis,
  kFreeBorder,
  kNotAnOrder,
  kTooLarge,
  kReadAgain,
  kNoProduct,
  kTooLong,
  kNoParts,
  kNotAnExtreme,
  kOtherParts,
  kBindFirst,
  kBreaksScan,
  kNoBound,
  kNoWindow,
  kNoTerms,
  kNoScan,
  kNothingInCommon,
};
struct StepError {
  Refusal refusal;
  int step = -1;             // position in the trace
  std::string subject;       // the loop, block or buffer it is about
  std::string text() const;  // one sentence: what, where, and what would be legal
};
template <class T>
using StepResult = std::expected<T, StepError>;

}  // namespace lathe::schedule
