// What there is to know of a card before a program is made for it. Nothing of the driver itself is
// here, so whoever describes a target may include it.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/target.h"

namespace lathe::cuda {

struct Facts {
  std::string name;         // "NVIDIA H200", or of a slice "NVIDIA H200 MIG 1g.18gb"
  std::string uuid;         // "GPU-..." or, of a slice, "MIG-..."
  std::string driver;       // "580.65.06", or what it can do, "CUDA 13.0", where that is not told
  int cuda = 0;             // the newest CUDA that the driver knows: 13000 for 13.0
  int architecture = 0;     // 90 for sm_90
  int multiprocessors = 0;  // of the card, or of the slice
  // Of a multiprocessor.
  int registers = 0;  // of 32 bits
  std::int64_t shared_bytes = 0;
  int threads = 0, blocks = 0;  // that are resident at once
  // Of one block, at most: with what a kernel asks for above 48 KB, and what every block loses.
  std::int64_t block_bytes = 0, reserved_bytes = 0;
  int block_threads = 0;
  int thread_registers = 0;  // of one thread
  std::int64_t l2_bytes = 0, memory_bytes = 0;
  int clock_khz = 0;         // of multiprocessors, at most
  int memory_clock_khz = 0;  // 0: the driver no longer tells
  int bus_bits = 0;

  // Changes whenever a program assembled for the card may no longer fit it.
  std::string text() const;
  friend bool operator==(const Facts&, const Facts&) = default;
};

Fingerprint fingerprint_of(const Facts& facts);

Json to_json(const Facts& facts);
Result<Facts> facts_from_json(const Json& json);

}  // namespace lathe::cuda
