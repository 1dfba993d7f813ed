// The messages between the tuner and `lathe-builder`. The greeting, kFailed and the form of errors
// are the runner's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

enum BuildType : std::uint32_t {
  kSetup = 20,
  kBuild,
  kBuildProgram,
  kBuildPeak,
  kBuildStream,  // to the builder, like those above
  kSetUp = 120,
  kBuilt,  // from the builder, like kSetUp
};

// Reply: kSetUp.
struct Setup {
  std::string workload;           // te::print_program
  std::string target;             // canonical text
  bool free_layout = false;       // of the contract; the text does not carry it
  std::int64_t memory_bytes = 0;  // address space beyond what the idle builder takes
  std::vector<int> cpus;          // on which it may run; empty: any
};

// Reply: kBuilt; kFailed where the candidate cannot be built.
struct BuildRequest {
  std::string trace;  // JSON
  bool anew = false;  // build it even if its program is known
  // Hashes of programs measured since the last request; they are not built again.
  std::vector<std::string> known;
};
// kBuildProgram: builds a reference, whose text is not the workload's, under a plain
// schedule. Reply: kBuilt.
struct BuildProgram {
  std::string text;
};
// kBuildPeak, without a body: builds a kernel of independent multiply-adds for all of the target's
// threads. Reply: kBuilt.
struct BuiltPeak {
  Built built;
  double flops = 0;  // of one call
};
// kBuildStream: builds a kernel that reads and writes this many bytes, rounded up to vectors, on
// all of the target's threads. Reply: kBuilt.
struct BuildStream {
  std::int64_t read = 0, written = 0;
};

std::string encode(const Setup& message);
std::string encode(const BuildRequest& message);
std::string encode(const BuildProgram& message);
std::string encode(const BuildStream& message);
std::string encode(const Built& message);
std::string encode(const BuiltPeak& message);
Result<Setup> decode_setup(std::string_view body);
Result<BuildRequest> decode_build(std::string_view body);
Result<BuildProgram> decode_program(std::string_view body);
Result<BuildStream> decode_stream(std::string_view body);
Result<Built> decode_built(std::string_view body);
Result<BuiltPeak> decode_peak(std::string_view body);

}  // namespace lathe::measure
