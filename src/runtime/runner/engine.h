// What the server drives: an engine, which opens candidates and calls them, on the processor or on
// a device. Requests, checks and the rules of timing are the server's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/target.h"
#include "runtime/runner/channel.h"
#include "runtime/runner/protocol.h"
#include "runtime/tensor/layout.h"

namespace lathe::runner {

// Calls that were timed together.
struct Sample {
  double seconds = 0;         // of one call, without lost time
  bool disturbed = false;     // so much was lost that `seconds` does not count
  double wall = 0, lost = 0;  // of all its calls, in seconds
};

// A candidate, opened and prepared. Only one of an engine's runs at a time.
class Runnable {
 public:
  virtual ~Runnable() = default;
  // Call it before every series of calls. Of a series that is checked, outputs and scratch read as
  // NaN until they are written, and the memory around them is watched.
  virtual Status begin(bool checked) = 0;
  // True if such caches are made before a call, so that each is timed alone.
  virtual bool empties(CacheMode cache) const { return cache == CacheMode::kCold; }
  // kRun: the candidate failed. What the caches must not have is thrown out of them first.
  virtual Result<Sample> call(int calls, CacheMode cache) = 0;
  virtual Status warm() = 0;  // brings what it reads and writes into the caches
  // After a checked series: fails with kRun, and says where, if it wrote what it must not.
  virtual Status check_memory() = 0;
  // An output of the last call, as the candidate stores it; stays until the next call.
  virtual Result<const std::byte*> output(std::size_t number) = 0;
  virtual std::int64_t resident_bytes() const = 0;  // that it keeps until it goes
  virtual double prepare_seconds() const = 0;

  double call_seconds = 0;  // of one call, roughly; 0: not known
};

class Engine {
 public:
  virtual ~Engine() = default;
  // What programs run on, as records name it.
  virtual Result<Fingerprint> machine() = 0;
  // Begins with a workload. `inputs` is its file of inputs; earlier candidates are gone. The
  // borders are sound, and so is the shift.
  virtual Status set_up(const RunnerSetup& setup, int inputs) = 0;
  // Opens a candidate on the workload's inputs, or on those in the file `inputs` if there is one,
  // which are laid out like the candidate's.
  virtual Result<std::unique_ptr<Runnable>> open(Fd code, const std::vector<tensor::Border>& inputs,
                                                 const std::vector<tensor::Border>& outputs,
                                                 const Fd* own_inputs) = 0;
  // Seconds of work that is always the same: it shows whether something else disturbs.
  virtual double sentinel() = 0;
  // False where a candidate broke more than itself. The process ends then, which costs that
  // candidate, and the next process is whole.
  virtual bool usable() const { return true; }
};

}  // namespace lathe::runner
