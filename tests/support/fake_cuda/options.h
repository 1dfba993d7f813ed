// What a test tells the double of NVIDIA's driver, and what it counts.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::fake_cuda {

// Words of $LATHE_FAKE_CUDA, separated by spaces:
//   state=FILE      calls are counted in this file, by all processes together; else by each alone
//   fail=NAME:N:CODE  the N-th call of a function of this name fails with the code, as do all later
//                   calls of that process if a card would do so (700 to 719)
//   lost=N          the N-th kernel and all that comes after it, in other processes too, find that
//                   the card is gone
//   version=11020   what the driver knows
//   cards=2, architecture=75, processors=2, memory=BYTES, free=BYTES, mig
//   most=N          a launch ends after so many instructions, as if it were done: for kernels that
//                   take a card a millisecond and an interpreter a minute
struct Options {
  std::string state, fail;
  std::int64_t fail_at = 0, lost_at = 0;
  int fail_code = 0;
  int version = 13000, cards = 1, architecture = 90, processors = 132;
  std::int64_t memory = std::int64_t{1} << 30, free = -1;
  bool mig = false;
  std::int64_t most = 0;
};
const Options& options();

inline constexpr int kMostFunctions = 96;
struct Counter {
  char name[56];
  std::int64_t calls;
};
// What lies in the file of `state`.
struct State {
  std::int64_t kernels;
  std::int64_t lost;
  Counter functions[kMostFunctions];
};

// Counts a call, over all processes, and returns the code that it fails with; 0: it works.
int count_call(const char* name);
// Counts a kernel. False: the card is lost.
bool count_kernel();
bool is_lost();

}  // namespace lathe::fake_cuda
