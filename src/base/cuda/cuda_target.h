// A card of NVIDIA as a target, and where a measurement on one came from. For base/target.h, which
// users include.
//
// The text is `cuda:NAME`: "cuda:sm_80" for what cards of an architecture have, "cuda:A100" for a
// card that is known by its name, "cuda:FILE" for one that a JSON file describes, "cuda:host" for
// the one of this machine, "cuda:host:N" for its N-th, "cuda:host:GPU-..." for the one with that
// UUID, "cuda:host:MIG-..." for a slice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

struct Abilities;
struct Grids;

// What a card's programs are generated for.
struct CudaTarget {
  std::string name;  // "sm_80", "A100", "host", the path of a description, or the driver's name

  // Derived from the name by the back end that resolves the target; zero until then.
  int architecture = 0;     // 80 for sm_80
  int multiprocessors = 0;  // of the card
  // Of a multiprocessor.
  int registers = 0;              // of 32 bits
  std::int64_t shared_bytes = 0;  // of shared memory
  int threads = 0, blocks = 0;    // that are resident at once
  // Of one block, and of one thread, at most.
  std::int64_t block_bytes = 0;  // of shared memory
  int block_threads = 0;
  int thread_registers = 0;
  // Of the card.
  std::int64_t l2_bytes = 0, memory_bytes = 0;
  int clock_mhz = 0;           // of multiprocessors, at most
  int gigabytes_a_second = 0;  // of memory

  int lanes(int element_bytes) const;  // of a load of 16 bytes
  std::string text() const;            // canonical
  // See Target.
  bool is_host() const { return name == "host" || name.starts_with("host:"); }
  const char* lacking_on(const CudaTarget& machine) const;
  Abilities abilities() const;
  std::optional<Grids> grids() const;
};

inline constexpr std::string_view kCuda = "cuda:";
// Checks the syntax only.
Result<CudaTarget> parse_cuda_target(std::string_view text);

struct CudaFingerprint {
  std::string model;   // "NVIDIA H200"
  std::string driver;  // "580.65.06"
  std::string text() const;
  std::string cpu() const;
  std::string name() const { return model; }
};

}  // namespace lathe
