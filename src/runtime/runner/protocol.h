// The messages between the tuner and `lathe-runner`: one request, one reply, in turn. The runner
// begins with a Greeting.
//
// A runner serves workload after workload. The inputs of one are sent once, as an asset with a
// name; so is the reference that outputs are compared with. A candidate is loaded (opened,
// prepared, run once, checked). Then the tuner visits it as often as it likes, between visits of
// other candidates too, and drops it in the end. A visit times one candidate for a few
// milliseconds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cache_mode.h"
#include "base/result.h"
#include "runtime/runner/channel.h"
#include "runtime/runner/wire.h"
#include "runtime/tensor/layout.h"

namespace lathe::runner {

inline constexpr int kChannelFd = 3;  // the child's end, inherited
// The exit status of a helper process that had no memory left.
inline constexpr int kOutOfMemoryStatus = 77;

// What the header says of a message. Who changes a message's members gives it the next version;
// those of its parts, such as borders, count as its own. No two messages have one type.
struct Schema {
  std::uint32_t type = 0, version = 0;
  std::string_view name;
};
template <class Message>
inline constexpr auto kSchema = nullptr;
template <class Message>
bool is(const Packet& packet) {
  return packet.type == kSchema<Message>.type;
}

template <>
inline constexpr auto kLastOf<Dtype> = Dtype::kU32;
template <>
inline constexpr auto kLastOf<ErrorKind> = ErrorKind::kInternal;
template <>
inline constexpr auto kLastOf<CacheMode> = CacheMode::kFar;
template <>
inline constexpr auto kFields<tensor::LayoutDigit> = fields<tensor::LayoutDigit>(
    &tensor::LayoutDigit::dim, &tensor::LayoutDigit::weight, &tensor::LayoutDigit::extent,
    &tensor::LayoutDigit::stride, &tensor::LayoutDigit::within);
template <>
inline constexpr auto kFields<tensor::Border> = fields<tensor::Border>(
    &tensor::Border::name, &tensor::Border::dtype, &tensor::Border::shape, &tensor::Border::layout,
    &tensor::Border::size, &tensor::Border::constant);

// A file that the runner keeps under a name, for whatever workload it is told of later. fds: the
// file. Reply: Ready.
struct KeepAsset {
  std::string name;
  std::vector<std::string> drop;  // those that it need not keep any more
};
template <>
inline constexpr Schema kSchema<KeepAsset>{6, 1, "KeepAsset"};
template <>
inline constexpr auto kFields<KeepAsset> = fields<KeepAsset>(&KeepAsset::name, &KeepAsset::drop);

// Reply: Described.
struct Describe {};
template <>
inline constexpr Schema kSchema<Describe>{7, 1, "Describe"};
template <>
inline constexpr auto kFields<Describe> = fields<Describe>();
struct Described {
  std::string fingerprint;  // of the device on which the runner times, as JSON
};
template <>
inline constexpr Schema kSchema<Described>{107, 1, "Described"};
template <>
inline constexpr auto kFields<Described> = fields<Described>(&Described::fingerprint);

// Later requests concern this workload; candidates and reference of the last one are gone. Reply:
// Ready.
struct RunnerSetup {
  std::vector<tensor::Border> inputs, outputs;  // as the workload has them: row-major
  // Its inputs, row-major, one after the other, each at a multiple of 64 bytes.
  std::string inputs_asset;
  int threads = 1;
  std::vector<int> cpus;  // where it may run; empty: where it was started
  bool pinned = true;     // thread t runs on cpus[t]; else they run as those of any program
  // Limit of address space beyond what the runner and these tensors take; 0: none.
  std::int64_t memory_bytes = 0;
  // Bytes by which a caller's tensors lie before the end of their pages: multiples of 16, as malloc
  // gives them.
  std::int64_t shift = 0;
};
template <>
inline constexpr Schema kSchema<RunnerSetup>{1, 5, "RunnerSetup"};
template <>
inline constexpr auto kFields<RunnerSetup> = fields<RunnerSetup>(
    &RunnerSetup::inputs, &RunnerSetup::outputs, &RunnerSetup::inputs_asset, &RunnerSetup::threads,
    &RunnerSetup::cpus, &RunnerSetup::pinned, &RunnerSetup::memory_bytes, &RunnerSetup::shift);

struct Ready {};
template <>
inline constexpr Schema kSchema<Ready>{101, 1, "Ready"};
template <>
inline constexpr auto kFields<Ready> = fields<Ready>();

// Reply: Ready.
struct ReferenceInfo {
  // Holds, for every output in turn, its values and then its bounds, as f64, row-major.
  std::string asset;
  // Largest error relative to the largest output; checked besides the bounds of each element.
  double max_error = 0;
};
template <>
inline constexpr Schema kSchema<ReferenceInfo>{2, 2, "ReferenceInfo"};
template <>
inline constexpr auto kFields<ReferenceInfo> =
    fields<ReferenceInfo>(&ReferenceInfo::asset, &ReferenceInfo::max_error);

// fds: the shared object. Reply: Loaded.
struct Load {
  std::int64_t id = 0;
  std::vector<tensor::Border> inputs, outputs;  // as the candidate stores them
  bool check = true;                            // compare with the reference
  std::vector<std::int64_t> drop;               // candidates to drop first
};
template <>
inline constexpr Schema kSchema<Load>{3, 2, "Load"};
template <>
inline constexpr auto kFields<Load> =
    fields<Load>(&Load::id, &Load::inputs, &Load::outputs, &Load::check, &Load::drop);
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
template <>
inline constexpr Schema kSchema<Loaded>{102, 1, "Loaded"};
template <>
inline constexpr auto kFields<Loaded> = fields<Loaded>(
    &Loaded::prepare_seconds, &Loaded::first_seconds, &Loaded::resident_bytes, &Loaded::max_error,
    &Loaded::wrong, &Loaded::output, &Loaded::index, &Loaded::got, &Loaded::want, &Loaded::bound);

// Reply: Visited.
struct VisitRequest {
  std::int64_t id = 0;
  double min_seconds = 0.008;  // total time of all samples
  // Calls shorter than this are timed several at a time.
  double min_sample_seconds = 50e-6;
  // Stop after one sample slower than this, lost time aside; 0: never.
  double drop_above = 0;
  // What is in the caches when a timed call begins.
  CacheMode cache = CacheMode::kWarm;
  // Sleep so long before every sample, which is one call then; and take so many samples.
  double pause_seconds = 0;
  int pauses = 0;
};
template <>
inline constexpr Schema kSchema<VisitRequest>{4, 3, "VisitRequest"};
template <>
inline constexpr auto kFields<VisitRequest> =
    fields<VisitRequest>(&VisitRequest::id, &VisitRequest::min_seconds,
                         &VisitRequest::min_sample_seconds, &VisitRequest::drop_above,
                         &VisitRequest::cache, &VisitRequest::pause_seconds, &VisitRequest::pauses);
struct Visited {
  std::vector<double> seconds;  // of one call; one entry for each sample
  // Samples that the scheduler disturbed, without the time that was lost. They do not count. To
  // replace them, sampling goes on for a few times `min_seconds` at most.
  std::vector<double> disturbed;
  int calls = 1;  // calls in a sample
  double sentinel_before = 0, sentinel_after = 0;
  // Of all samples: the wall time, and what of it the scheduler took from one of the threads.
  double wall_seconds = 0, lost_seconds = 0;
};
template <>
inline constexpr Schema kSchema<Visited>{103, 2, "Visited"};
template <>
inline constexpr auto kFields<Visited> = fields<Visited>(
    &Visited::seconds, &Visited::disturbed, &Visited::calls, &Visited::sentinel_before,
    &Visited::sentinel_after, &Visited::wall_seconds, &Visited::lost_seconds);

// Runs a program that is not a candidate of the workload (a reference, a benchmark) on the
// workload's threads. fds: the shared object, the inputs (as for RunnerSetup) and a file of the
// right size for the outputs, row-major and laid out like the inputs. Reply: Executed.
struct Execute {
  std::vector<tensor::Border> inputs, outputs;
  int repeats = 1;
  // Calls shorter than this are timed several at a time.
  double min_sample_seconds = 0;
  CacheMode cache = CacheMode::kWarm;  // what is there when a call begins
};
template <>
inline constexpr Schema kSchema<Execute>{5, 3, "Execute"};
template <>
inline constexpr auto kFields<Execute> =
    fields<Execute>(&Execute::inputs, &Execute::outputs, &Execute::repeats,
                    &Execute::min_sample_seconds, &Execute::cache);
struct Executed {
  std::vector<double> seconds;
};
template <>
inline constexpr Schema kSchema<Executed>{104, 1, "Executed"};
template <>
inline constexpr auto kFields<Executed> = fields<Executed>(&Executed::seconds);

// A signal handler writes it, so its size is fixed. The reply to whatever was asked.
struct Crash {
  std::int32_t signal = 0;
  std::int32_t access = 0;  // 0 not known, 1 read, 2 write
  std::uint64_t address = 0;
  std::int32_t region = 0;  // 0 none, 1 before, 2 inside, 3 after `buffer`
  // Bytes from the buffer's start (inside, before) or end (after).
  std::int64_t distance = 0;
  std::array<char, 64> buffer = {};  // ends with a zero
  Error error() const;
};
template <>
inline constexpr Schema kSchema<Crash>{106, 1, "Crash"};
template <>
inline constexpr auto kFields<Crash> =
    fields<Crash>(&Crash::signal, &Crash::access, &Crash::address, &Crash::region, &Crash::distance,
                  &Crash::buffer);

// Whatever was asked, it failed.
template <>
inline constexpr Schema kSchema<Error>{105, 2, "Error"};
template <>
inline constexpr auto kFields<Error> = fields<Error>(&Error::kind, &Error::message, &Error::place);

// Whatever was asked, it broke the process, which ends now: what it knew is gone.
struct Broken {
  Error error;
};
template <>
inline constexpr Schema kSchema<Broken>{108, 1, "Broken"};
template <>
inline constexpr auto kFields<Broken> = fields<Broken>(&Broken::error);

// What a helper sends before anything else: the messages that it knows. Its type, members and
// version stay as they are, so that all versions of Lathe understand each other so far. Version 3
// of the protocol is the first in which messages have versions of their own.
struct Known {
  std::uint32_t type = 0, version = 0;
  friend bool operator==(const Known&, const Known&) = default;
};
struct Greeting {
  std::vector<Known> messages;
  friend bool operator==(const Greeting&, const Greeting&) = default;
};
template <>
inline constexpr auto kFields<Known> = fields<Known>(&Known::type, &Known::version);
template <>
inline constexpr Schema kSchema<Greeting>{100, 3, "Greeting"};
template <>
inline constexpr auto kFields<Greeting> = fields<Greeting>(&Greeting::messages);

// The messages that two processes exchange.
template <class... All>
struct Messages {
  // How many of them have this type: more than one would be taken for one another.
  static constexpr int with_type(std::uint32_t type) {
    return (static_cast<int>(kSchema<All>.type == type) + ...);
  }
  static Greeting greeting() {
    static_assert(((with_type(kSchema<All>.type) == 1) && ...), "two messages have one type");
    return {{{kSchema<All>.type, kSchema<All>.version}...}};
  }
};
using RunnerMessages =
    Messages<Describe, Described, KeepAsset, RunnerSetup, Ready, ReferenceInfo, Load, Loaded,
             VisitRequest, Visited, Execute, Executed, Error, Crash, Broken>;

template <class Message>
Packet encode(const Message& message) {
  Packet packet{kSchema<Message>.type, kSchema<Message>.version, {}};
  write(packet.body, message);
  return packet;
}
// Says why a packet that has to be such a message is none.
Error unreadable(const Packet& packet, const Schema& wanted);
// Fails with kDataLoss if the packet is another message, of another version, or damaged.
template <class Message>
Result<Message> decode(const Packet& packet) {
  constexpr Schema kWanted = kSchema<Message>;
  Message message;
  Reader reader(packet.body);
  if (packet.type == kWanted.type && packet.version == kWanted.version) reader.read(message);
  if (packet.type != kWanted.type || packet.version != kWanted.version || !reader.complete())
    return std::unexpected(unreadable(packet, kWanted));
  return message;
}

// Offsets of tensors that lie one after the other in a file; the last is the file's size.
std::vector<std::int64_t> file_offsets(const std::vector<tensor::Border>& borders);

}  // namespace lathe::runner
