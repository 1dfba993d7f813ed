#include "tuner/space/card_cost.h"

#include <algorithm>
#include <cmath>

namespace lathe::space {
namespace {

// Fitted, as those of the header, to the times of 7,590 programs on an H200 that were generated as
// CUDA C in these structures: `bench_search cards` tells how well they order them.
// The share of its issue slots that a scheduler fills at most, and warps that fill half of these.
constexpr double kMostBusy = 0.91, kHalfBusy = 0.72;
constexpr double kSharedShare = 0.88;  // of its cycles in which shared memory serves at most
// Until what a chunk needs is there, where nothing was copied ahead; with each stage more, less.
constexpr double kWaitCycles = 287, kWaitOfStage = 0.106;
constexpr double kMeetCycles = 39;   // of a chunk, for which threads wait for each other
constexpr double kLastCycles = 2.9;  // for each cycle of the unit that stores a block's sums
// The share of the shorter of two that is not hidden. These programs depended on it as little as on
// the rate of the second cache.
constexpr double kOverlapped = 0.1;
constexpr double kSchedulers = 4, kFewestRegisters = 32;

// Until what does not fit into the second cache has moved.
double memory_cycles(const CardWork& work, const CudaTarget& target) {
  const double rate = memory_rate(target);
  if (work.memory <= static_cast<double>(target.l2_bytes) || rate == 0) return 0;
  return work.memory / rate;
}

}  // namespace

double memory_rate(const CudaTarget& card) {
  constexpr double kMegahertz = 1e6, kGigabytes = 1e9;
  if (card.clock_mhz == 0) return 0;
  return card.gigabytes_a_second * kGigabytes / (card.clock_mhz * kMegahertz);
}

CardWaves waves_of(const CardWork& work, const CudaTarget& target) {
  CardWaves out;
  const double registers = work.threads * std::max(kFewestRegisters, work.registers);
  out.resident = std::max(
      1.0,
      std::floor(std::min({target.registers / registers,
                           static_cast<double>(target.shared_bytes) / std::max(1.0, work.shared),
                           target.threads / work.threads, static_cast<double>(target.blocks)})));
  const double blocks = std::ceil(work.blocks / target.multiprocessors);
  out.at_once = std::min(blocks, out.resident);
  out.waves = std::ceil(blocks / out.resident);
  out.done = std::max(out.at_once, std::min(blocks, out.at_once * out.waves));
  out.a_scheduler = std::ceil(work.threads / card::kWarp) * out.at_once / kSchedulers;
  return out;
}

double cycles_of(const CardWork& work, const CudaTarget& target) {
  const double warps = std::ceil(work.threads / card::kWarp);
  const CardWaves on = waves_of(work, target);
  const double busy = kMostBusy * on.a_scheduler / (on.a_scheduler + kHalfBusy);
  const double issuing = on.done * warps * work.instructions / kSchedulers / busy;
  const double sharing = on.done * warps * work.shared_cycles / kSharedShare;
  const double computing = std::cbrt(std::pow(issuing, 3) + std::pow(sharing, 3));
  const double waiting = (kWaitCycles * std::pow(kWaitOfStage, work.stages - 1) + kMeetCycles) *
                         work.chunks * on.waves;
  const double copying = work.staged * on.done / card::kStagedRate;
  const double time = std::max(computing, copying) + kOverlapped * std::min(computing, copying) +
                      waiting + on.done * work.last * kLastCycles;
  return std::max(time, memory_cycles(work, target));
}

}  // namespace lathe::space
