// What the measurer asks of a kind of device, as functions: the rest of this room knows no kind.
//
// Programs run on it in a process of their own, its runner, which has the device's clock and
// sentinel and speaks the messages of runtime/runner/protocol.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

// Who may use which of this machine's processors, and when.
struct Gate {
  // Those of a program's threads while it is timed, and of everything else meanwhile. Empty: any.
  std::vector<int> timed, others;
  bool overlap = true;  // candidates are built while others are timed
  int builders = 1;     // processes
  bool guest = false;   // one more builder has the timed processors while nothing is timed
};

// A program that shows how fast the device computes: it reads an input "x", writes "y".
struct PeakKernel {
  flat::Program program;
  double flops = 0;  // of one run
};

// Makes machine code of an image in the builder's process, so that the runner finds it.
class Assembler {
 public:
  virtual ~Assembler() = default;
  // Tells what became of the program, as spills; fails with what keeps the device from running it.
  virtual Status assemble(Built& built) = 0;
};

struct Device {
  DeviceKind kind;
  const char* runner;   // the helper's name
  const char* watched;  // between what its programs lie, so that wrong accesses are noticed
  // That a program may take, beyond what one of its speed does, until it can run: its driver may
  // have to compile it.
  double opening_seconds;
  // The device of this machine on which programs are timed.
  Fingerprint (*fingerprint)();
  // Says why programs for the target cannot be measured with these options, if so.
  Status (*check)(const Target& target, const Options& options);
  Gate (*gate)(const Target& target, const Options& options);
  PeakKernel (*peak_kernel)(const Target& target);
  // A program that reads and writes so many bytes, rounded up to vectors, and does nothing else.
  flat::Program (*stream_kernel)(const Target& target, std::int64_t read_bytes,
                                 std::int64_t written_bytes);
  // Whether a second runner stands ready for when the first one dies, for it takes long to begin.
  bool spare = false;
  // Null: what builders link is machine code already. The result is null where this process cannot
  // assemble, and the runner does.
  std::unique_ptr<Assembler> (*make_assembler)() = nullptr;
};

const Device& device_of(DeviceKind kind);

// The device of this machine that times the target's programs, as records name it.
Fingerprint machine_for(const Target& target);

}  // namespace lathe::measure
