// The messages between the tuner and `lathe-runner`: one request, one reply, in turn. The runner
// begins with kHello.
//
// The workload's inputs are sent once; so is the reference that outputs are compared with. A
// candidate is loaded (opened, prepared, run once, checked). Then the tuner visits it as often as
// it likes, between visits of other candidates too, and drops it in the end. A visit times one
// candidate for a few milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/runner/channel.h"
#include "runtime/tensor/layout.h"

namespace lathe::runner {

inline constexpr std::uint32_t kProtocol = 2;
inline constexpr int kChannelFd = 3;  // the child's end, inherited
// The exit status of a helper process that had no memory left.
inline constexpr int kOutOfMemoryStatus = 77;

enum Type : std::uint32_t {
  // To the runner.
  kWorkload = 1,
  kReference,
  kLoad,
  kVisit,
  kExecute,
  // From the runner.
  kHello = 100,
  kReady,
  kLoaded,
  kVisited,
  kExecuted,
  kFailed,
  kCrashed,
};

// fds: the inputs, row-major, one after the other, each at a multiple of 64 bytes. Reply: kReady.
struct Workload {
  std::vector<tensor::Border> inputs, outputs;  // as the workload has them: row-major
  int threads = 1;
  std::vector<int> cpus;  // thread t runs on cpus[t]; empty: anywhere
  // Limit of address space beyond what the runner and these tensors take; 0: none.
  std::int64_t memory_bytes = 0;
};

// fds: a file that holds, for every output in turn, its values and then its bounds, as f64,
// row-major. Reply: kReady.
struct ReferenceInfo {
  // Largest error relative to the largest output; checked besides the bounds of each element.
  double max_error = 0;
};

// fds: the shared object. Reply: kLoaded.
struct Load {
  std::int64_t id = 0;
  std::vector<tensor::Border> inputs, outputs;  // as the candidate stores them
  bool check = true;                            // compare with the reference
  std::vector<std::int64_t> drop;               // candidates to drop first
};
struct Loaded {
  double prepare_seconds = 0;
  // Of the first, checked call, without lost time; caches and pages are cold then.
  double first_seconds = 0;
  std::int64_t resident_bytes = 0;  // that the candidate keeps until it is dropped
  // Results of the check: the largest |got - want| over the largest |want|, and the element
  // furthest beyond its bound.
  double max_error = 0;
  bool wrong = false;
  int output = 0;
  std::int64_t index = 0;  // row-major
  double got = 0, want = 0, bound = 0;
};

// Reply: kVisited.
struct Visit {
  std::int64_t id = 0;
  double min_seconds = 0.008;  // total time of all samples
  // Calls shorter than this are timed several at a time.
  double min_sample_seconds = 50e-6;
  // Stop after one sample slower than this, lost time aside; 0: never.
  double drop_above = 0;
  // Throw all data out of the caches before every timed call.
  bool cold = false;
};
struct Visited {
  std::vector<double> seconds;  // of one call; one entry for each sample
  // Samples that the scheduler disturbed, without the time that was lost. They do not count. To
  // replace them, sampling goes on for a few times `min_seconds` at most.
  std::vector<double> disturbed;
  int calls = 1;  // calls in a sample
  double sentinel_before = 0, sentinel_after = 0;
};

// Runs a program that is not a candidate of the workload (a reference, a benchmark) on the
// workload's threads. fds: the shared object, the inputs (as for kWorkload) and a file of the right
// size for the outputs, row-major and laid out like the inputs. Reply: kExecuted.
struct Execute {
  std::vector<tensor::Border> inputs, outputs;
  int repeats = 1;
  // Calls shorter than this are timed several at a time.
  double min_sample_seconds = 0;
  bool cold = false;  // throw all data out of the caches before each call
};
struct Executed {
  std::vector<double> seconds;
};

// Plain data, because a signal handler writes it; the reply to whatever was asked.
struct Crash {
  std::int32_t signal = 0;
  std::int32_t access = 0;  // 0 not known, 1 read, 2 write
  std::uint64_t address = 0;
  std::int32_t region = 0;  // 0 none, 1 before, 2 inside, 3 after `buffer`
  // Bytes from the buffer's start (inside, before) or end (after).
  std::int64_t distance = 0;
  char buffer[64] = {};
  Error error() const;
};

// Offsets of tensors that lie one after the other in a file; the last is the file's size.
std::vector<std::int64_t> file_offsets(const std::vector<tensor::Border>& borders);

std::string encode(const Workload& message);
std::string encode(const ReferenceInfo& message);
std::string encode(const Load& message);
std::string encode(const Loaded& message);
std::string encode(const Visit& message);
std::string encode(const Visited& message);
std::string encode(const Execute& message);
std::string encode(const Executed& message);
std::string encode(const Error& message);
// Fails with kDataLoss if the bytes are no such message.
template <class T>
Result<T> decode(std::string_view body);

}  // namespace lathe::runner
