// A rough model of the time of a kernel on a card: latency, instructions, shared memory, copies,
// waves of blocks. Rules choose where a search begins by it, features tell what it sees, and it
// scores programs before anything is measured.
#pragma once

#include "base/target.h"

namespace lathe::space {

// What the model looks at of a kernel; all numbers are counts.
struct CardWork {
  double threads = 1, blocks = 1;    // of a block; of the grid
  double instructions = 0;           // of one thread
  double shared_cycles = 0;          // that one warp keeps the unit for loads and stores busy
  double chunks = 0;                 // for each of which threads meet
  double last = 0;                   // cycles of that unit for a block's sums, added up and stored
  double staged = 0;                 // bytes that a block gets through the second cache
  double registers = 0, shared = 0;  // of a thread, in number; of a block, in bytes
  int stages = 1;                    // chunks that shared memory has room for
  double memory = 0;                 // bytes that all blocks bring from memory, or to it
};

// How blocks lie on the card's multiprocessors.
struct CardWaves {
  double resident = 1;     // blocks that a multiprocessor has room for
  double at_once = 1;      // that the busiest one has
  double waves = 1;        // one after the other
  double done = 1;         // blocks of the busiest one; all of a wave count as long as the longest
  double a_scheduler = 1;  // warps that a scheduler chooses from
};
CardWaves waves_of(const CardWork& work, const CudaTarget& card);

// Bytes that memory moves in a cycle; 0: not known.
double memory_rate(const CudaTarget& card);
// Cycles, roughly, without the launch.
double cycles_of(const CardWork& work, const CudaTarget& card);

// A launch, first loads from memory, and what follows the last sum, in cycles; and how much a
// kernel takes that follows another one.
inline constexpr double kLaunchCycles = 2510, kNextKernelCycles = 3700;

// For whoever counts.
namespace card {

// Instructions around a run of a body, of a copy, of a chunk; registers of a
// thread beside its sums.
inline constexpr double kRunInstructions = 8, kCopyInstructions = 3, kChunkInstructions = 30;
inline constexpr double kOtherRegisters = 40;
inline constexpr int kWarp = 32;
// Bytes that a multiprocessor gets a cycle from the second cache at most.
inline constexpr double kStagedRate = 64;

}  // namespace card

}  // namespace lathe::space
