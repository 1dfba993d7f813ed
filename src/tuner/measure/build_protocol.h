// The messages between the tuner and `lathe-builder`. Its greeting and errors are those of the
// runner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

// Later requests concern this workload, until the next setup. Reply: SetUp.
struct Setup {
  std::string workload;           // te::print_workload
  std::string target;             // canonical text
  bool free_layout = false;       // of the contract; the text does not carry it
  std::int64_t memory_bytes = 0;  // address space beyond what the idle builder takes
  std::vector<int> cpus;          // on which it may run; empty: any
};

struct SetUp {};

// Reply: Built; an error where the candidate cannot be built.
struct BuildRequest {
  std::string trace;  // JSON
  bool anew = false;  // build it even if its program is known
  // Hashes of programs measured since the last request; they are not built again.
  std::vector<std::string> known;
};
// Builds a reference, whose text is not the workload's, under a plain schedule, for one thread of
// this machine's processor. Reply: Built.
struct BuildReference {
  std::string text;
};
// Builds a kernel of independent multiply-adds for all of the target's threads. Reply: BuiltPeak.
struct BuildPeak {};
struct BuiltPeak {
  Built built;
  double flops = 0;  // of one call
};
// Builds a kernel that reads and writes this many bytes, rounded up to vectors, on all of the
// target's threads. Reply: Built.
struct BuildStream {
  std::int64_t read = 0, written = 0;
};

using BuilderMessages = runner::Messages<Setup, SetUp, BuildRequest, BuildReference, BuildPeak,
                                         BuiltPeak, BuildStream, Built, Error>;

}  // namespace lathe::measure

namespace lathe::runner {

template <>
inline constexpr Schema kSchema<measure::Setup>{20, 1, "Setup"};
template <>
inline constexpr auto kFields<measure::Setup> = fields<measure::Setup>(
    &measure::Setup::workload, &measure::Setup::target, &measure::Setup::free_layout,
    &measure::Setup::memory_bytes, &measure::Setup::cpus);

template <>
inline constexpr Schema kSchema<measure::SetUp>{120, 1, "SetUp"};
template <>
inline constexpr auto kFields<measure::SetUp> = fields<measure::SetUp>();

template <>
inline constexpr Schema kSchema<measure::BuildRequest>{21, 1, "BuildRequest"};
template <>
inline constexpr auto kFields<measure::BuildRequest> = fields<measure::BuildRequest>(
    &measure::BuildRequest::trace, &measure::BuildRequest::anew, &measure::BuildRequest::known);

template <>
inline constexpr Schema kSchema<measure::BuildReference>{22, 1, "BuildReference"};
template <>
inline constexpr auto kFields<measure::BuildReference> =
    fields<measure::BuildReference>(&measure::BuildReference::text);

template <>
inline constexpr Schema kSchema<measure::BuildPeak>{23, 1, "BuildPeak"};
template <>
inline constexpr auto kFields<measure::BuildPeak> = fields<measure::BuildPeak>();

template <>
inline constexpr Schema kSchema<measure::BuildStream>{24, 1, "BuildStream"};
template <>
inline constexpr auto kFields<measure::BuildStream> =
    fields<measure::BuildStream>(&measure::BuildStream::read, &measure::BuildStream::written);

template <>
inline constexpr Schema kSchema<measure::Built>{121, 3, "Built"};
template <>
inline constexpr auto kFields<measure::Built> = fields<measure::Built>(
    stays(&measure::Built::tag), stays(&measure::Built::error), &measure::Built::library,
    &measure::Built::known, &measure::Built::inputs, &measure::Built::outputs,
    &measure::Built::program_hash, &measure::Built::spills, &measure::Built::registers,
    &measure::Built::shared_bytes, &measure::Built::loads_per_multiply, &measure::Built::code_bytes,
    &measure::Built::lower_seconds, &measure::Built::codegen_seconds,
    &measure::Built::link_seconds);

template <>
inline constexpr Schema kSchema<measure::BuiltPeak>{122, 3, "BuiltPeak"};
template <>
inline constexpr auto kFields<measure::BuiltPeak> =
    fields<measure::BuiltPeak>(&measure::BuiltPeak::built, &measure::BuiltPeak::flops);

}  // namespace lathe::runner
