#include "runtime/runner/server.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <new>
#include <span>
#include <utility>

#include "base/target_json.h"
#include "runtime/runner/check.h"

namespace lathe::runner {
namespace {

constexpr std::size_t kMostSamples = 10'000;
// Where samples are disturbed, a visit lasts at most this many times as long as was asked for.
constexpr double kPatience = 4;
// In seconds. Page tables and branches are learnt in a small part of such a call.
constexpr double kLongCall = 0.005;
constexpr std::int64_t kLargestShift = 1 << 20;  // bytes
// The first call is at most about this many times slower, because nobody has touched its pages.
constexpr double kFirstCallIsSlower = 2;

Status read_doubles(int file, std::int64_t& offset, std::vector<double>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(double));
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, reinterpret_cast<char*>(values.data()) + done,
                                static_cast<std::size_t>(bytes - done), offset + done);
    if (got <= 0) return fail(ErrorKind::kDataLoss, "the file of reference values is too short");
    done += got;
  }
  offset += bytes;
  return {};
}

Status write_all(int file, const std::byte* data, std::int64_t bytes, std::int64_t offset) {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t put =
        ::pwrite(file, data + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (put <= 0) return fail(ErrorKind::kIo, "cannot write outputs: {}", std::strerror(errno));
    done += put;
  }
  return {};
}

void keep_to(std::span<const int> cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);  // a container may refuse: then it is not pinned
}

// How many calls of `call` seconds each take as long as a sample should.
int calls_for(double call, double sample) {
  return static_cast<int>(std::clamp(std::ceil(sample / std::max(call, 1e-9)), 1.0, 1e6));
}

Status same_count(std::size_t got, std::size_t wanted) {
  if (got < wanted)
    return fail(ErrorKind::kDataLoss, "a request came without its {} descriptors", wanted);
  return {};
}

}  // namespace

void Server::serve() {
  if (!channel_.send(encode(RunnerMessages::greeting()))) return;
  for (;;) {
    auto message = channel_.receive();
    if (!message) return;
    Result<Reply> reply = std::unexpected(Error{});
    try {
      reply = answer(*message);
    } catch (const std::bad_alloc&) {
      reply = fail(ErrorKind::kOutOfMemory, "the runner has no memory left");
    }
    if (!channel_.send(reply ? *reply : encode(reply.error()))) return;
  }
}

Result<Server::Reply> Server::answer(Message& message) {
  switch (message.type) {
    case kSchema<Describe>.type: return encode(Described{to_json(host_fingerprint()).dump()});
    case kSchema<KeepAsset>.type: return keep_asset(message);
    case kSchema<RunnerSetup>.type: return set_up(message);
    case kSchema<ReferenceInfo>.type: return set_reference(message);
    case kSchema<Load>.type: return load(message);
    case kSchema<VisitRequest>.type: return visit(message);
    case kSchema<Execute>.type: return execute(message);
    default: return fail(ErrorKind::kDataLoss, "the runner does not know request {}", message.type);
  }
}

void Server::use_threads(int threads, const std::vector<int>& cpus, bool pinned) {
  if (pool_ && threads == threads_ && cpus == cpus_ && pinned == pinned_) return;
  pool_.reset();
  pinned_ = pinned;
  const bool pins = pinned && static_cast<int>(cpus.size()) >= threads;
  keep_to(pinned && !cpus.empty() ? std::span(cpus).first(1) : std::span(cpus));
  pool_ = std::make_unique<pool::Pool>(
      pool::Options{.threads = threads, .cpus = pins ? cpus.data() : nullptr});
  threads_ = threads;
  cpus_ = cpus;
  pool_->threads_now();  // starts those whose time is watched
  lost_ = std::make_unique<LostTime>(threads);
}

Status Server::limit_memory([[maybe_unused]] std::int64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // sanitizers reserve terabytes of address space
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  rlimit limit{};
  if (!(statm >> pages) || ::getrlimit(RLIMIT_AS, &limit) != 0) return {};
  const auto wanted = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes);
  limit.rlim_cur = bytes <= 0 ? limit.rlim_max : std::min(wanted, limit.rlim_max);
  if (::setrlimit(RLIMIT_AS, &limit) != 0)
    return fail(ErrorKind::kIo, "cannot limit the runner's memory: {}", std::strerror(errno));
#endif
  return {};
}

Result<Server::Reply> Server::keep_asset(Message& message) {
  LATHE_TRY_STATUS(same_count(message.fds.size(), 1));
  const auto request = LATHE_TRY(decode<KeepAsset>(message));
  for (const std::string& name : request.drop) assets_.erase(name);
  assets_[request.name] = std::move(message.fds[0]);
  return encode(Ready{});
}

Result<int> Server::asset(const std::string& name) const {
  const auto found = assets_.find(name);
  if (found == assets_.end())
    return fail(ErrorKind::kDataLoss, "a request names the asset {}, which was not sent", name);
  return found->second.get();
}

Result<Server::Reply> Server::set_up(const Message& message) {
  candidates_.clear();
  reference_.reset();
  setup_ = LATHE_TRY(decode<RunnerSetup>(message));
  LATHE_TRY_STATUS(limit_memory(0));
  for (const auto& border : setup_.inputs) LATHE_TRY_STATUS(tensor::verify(border));
  for (const auto& border : setup_.outputs) LATHE_TRY_STATUS(tensor::verify(border));
  if (setup_.shift < 0 || setup_.shift % 16 != 0 || setup_.shift > kLargestShift)
    return fail(ErrorKind::kDataLoss, "tensors cannot be shifted by {} bytes", setup_.shift);
  inputs_ =
      LATHE_TRY(read_inputs(setup_.inputs, LATHE_TRY(asset(setup_.inputs_asset)), setup_.shift));
  use_threads(setup_.threads, setup_.cpus, setup_.pinned);
  std::int64_t outputs = 0;
  for (const auto& border : setup_.outputs) outputs += 20 * border.elements() + 8 * border.bytes();
  if (setup_.memory_bytes > 0) LATHE_TRY_STATUS(limit_memory(setup_.memory_bytes + outputs));
  return encode(Ready{});
}

Result<Server::Reply> Server::set_reference(const Message& message) {
  const auto info = LATHE_TRY(decode<ReferenceInfo>(message));
  const int file = LATHE_TRY(asset(info.asset));
  Reference reference;
  reference.max_error = info.max_error;
  std::int64_t offset = 0;
  for (const auto& border : setup_.outputs) {
    const auto elements = static_cast<std::size_t>(border.elements());
    std::vector<double> values(elements), bounds(elements);
    LATHE_TRY_STATUS(read_doubles(file, offset, values));
    LATHE_TRY_STATUS(read_doubles(file, offset, bounds));
    reference.values.push_back(std::move(values));
    reference.bounds.push_back(std::move(bounds));
  }
  reference_ = std::move(reference);
  return encode(Ready{});
}

Result<Server::Reply> Server::load(Message& message) {
  LATHE_TRY_STATUS(same_count(message.fds.size(), 1));
  const Load request = LATHE_TRY(decode<Load>(message));
  if (!pool_) return fail(ErrorKind::kDataLoss, "a candidate came before its workload");
  for (const std::int64_t id : request.drop) candidates_.erase(id);
  for (const auto& border : request.outputs) LATHE_TRY_STATUS(tensor::verify(border));
  auto candidate = LATHE_TRY(
      Candidate::open(std::move(message.fds[0]), request.inputs, request.outputs, inputs_, *pool_));
  LATHE_TRY_STATUS(candidate->bind(scratch_));
  LATHE_TRY_STATUS(set_guarded(*candidate, true));
  candidate->fill_scratch(scratch_);
  Loaded loaded;
  lost_->start();
  const double start = now_seconds();
  candidate->run();
  const double wall = now_seconds() - start;
  loaded.first_seconds = wall - lost_->since(wall);
  candidate->call_seconds = loaded.first_seconds / kFirstCallIsSlower;
  loaded.prepare_seconds = candidate->prepare_seconds();
  loaded.resident_bytes = candidate->resident_bytes();
  if (const auto damage = candidate->damage(scratch_))
    return fail(ErrorKind::kRun, "the candidate wrote out of bounds: {}", *damage);
  if (request.check) LATHE_TRY_STATUS(check(*candidate, loaded));
  candidates_[request.id] = std::move(candidate);
  return encode(loaded);
}

Status Server::set_guarded(Candidate& candidate, bool guarded) {
  for (GuardedBuffer& buffer : inputs_.data) LATHE_TRY_STATUS(buffer.set_guarded(guarded));
  return candidate.set_guarded(scratch_, guarded);
}

Status Server::check(Candidate& candidate, Loaded& loaded) {
  if (!reference_) return fail(ErrorKind::kDataLoss, "a candidate came before its reference");
  const auto& outputs = candidate.outputs();
  if (outputs.size() != setup_.outputs.size())
    return fail(ErrorKind::kRun, "the candidate has {} outputs, the workload {}", outputs.size(),
                setup_.outputs.size());
  std::vector<Comparison> comparisons;
  std::vector<std::vector<std::byte>> unpacked(outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const tensor::Border& border = outputs[o];
    if (border.shape != setup_.outputs[o].shape || border.dtype != setup_.outputs[o].dtype)
      return fail_at(border.name, ErrorKind::kRun,
                     "the candidate's output differs from the workload's");
    const void* got = scratch_.outputs[o].data();
    if (!tensor::is_plain(border)) {
      unpacked[o].resize(static_cast<std::size_t>(border.elements() * size_of(border.dtype)));
      tensor::unpack(border, got, unpacked[o].data());
      got = unpacked[o].data();
    }
    comparisons.push_back({border.dtype, got, reference_->values[o], reference_->bounds[o]});
  }
  compare(comparisons, reference_->max_error, loaded);
  return {};
}

Server::Sample Server::time_sample(Candidate& candidate, int calls, bool cold) {
  if (cold) candidate.flush(scratch_);
  lost_->start();
  const double start = now_seconds();
  for (int i = 0; i < calls; ++i) candidate.run();
  const double wall = now_seconds() - start;
  const double lost = lost_->since(wall);
  const bool disturbed = LostTime::matters(lost, wall);
  return {(disturbed ? wall - lost : wall) / calls, disturbed, wall, lost};
}

// Runs the candidate until it is warm. Returns how many calls a sample takes.
int Server::warm_up(Candidate& candidate, const VisitRequest& request) {
  const double least = request.min_sample_seconds;
  if (!request.cold && candidate.call_seconds >= std::max(kLongCall, least)) {
    candidate.warm(scratch_);
    return 1;
  }
  // Fills page tables, trains branch prediction, and gives an estimate that is often too long.
  const double first = time_sample(candidate, 1, request.cold).seconds;
  if (request.cold || first >= least) return 1;
  return calls_for(std::min(first, time_sample(candidate, calls_for(first, least), false).seconds),
                   least);
}

void Server::keep(const Sample& sample, Visited& visited) {
  (sample.disturbed ? visited.disturbed : visited.seconds).push_back(sample.seconds);
  visited.wall_seconds += sample.wall;
  visited.lost_seconds += sample.lost;
}

// As a program calls it now and then: threads are asleep, clocks and caches at rest.
Visited Server::visit_after_pauses(Candidate& candidate, const VisitRequest& request) {
  Visited visited;
  const timespec pause{static_cast<time_t>(request.pause_seconds),
                       static_cast<long>(1e9 * std::fmod(request.pause_seconds, 1))};
  candidate.run();
  for (int i = 0; i < std::min(request.pauses, static_cast<int>(kMostSamples)); ++i) {
    ::nanosleep(&pause, nullptr);
    visited.seconds.push_back(time_sample(candidate, 1, request.cold).wall);
  }
  return visited;
}

Result<Server::Reply> Server::visit(const Message& message) {
  const VisitRequest request = LATHE_TRY(decode<VisitRequest>(message));
  const auto found = candidates_.find(request.id);
  if (found == candidates_.end())
    return fail(ErrorKind::kDataLoss, "candidate {} is not loaded", request.id);
  Candidate& candidate = *found->second;
  LATHE_TRY_STATUS(candidate.bind(scratch_));
  LATHE_TRY_STATUS(set_guarded(candidate, false));
  if (request.pause_seconds > 0) return encode(visit_after_pauses(candidate, request));
  Visited visited;
  visited.sentinel_before = sentinel_.run();
  visited.calls = warm_up(candidate, request);
  double disturbed = 0;  // part of the time since `start`
  const double start = now_seconds();
  for (double now = start; visited.seconds.size() + visited.disturbed.size() < kMostSamples;) {
    const Sample sample = time_sample(candidate, visited.calls, request.cold);
    const double before = std::exchange(now, now_seconds());
    keep(sample, visited);
    candidate.call_seconds = sample.seconds;
    if (sample.disturbed) disturbed += now - before;
    const bool enough = now - start - disturbed >= request.min_seconds ||
                        now - start >= kPatience * request.min_seconds;
    if (enough || (request.drop_above > 0 && sample.seconds > request.drop_above)) break;
  }
  visited.sentinel_after = sentinel_.run();
  return encode(visited);
}

Result<Server::Reply> Server::execute(Message& message) {
  LATHE_TRY_STATUS(same_count(message.fds.size(), 3));
  const Execute request = LATHE_TRY(decode<Execute>(message));
  for (const auto& border : request.inputs) LATHE_TRY_STATUS(tensor::verify(border));
  for (const auto& border : request.outputs) LATHE_TRY_STATUS(tensor::verify(border));
  const Inputs inputs = LATHE_TRY(read_inputs(request.inputs, message.fds[1].get()));
  if (!pool_) return fail(ErrorKind::kDataLoss, "a program came before its workload");
  auto candidate = LATHE_TRY(
      Candidate::open(std::move(message.fds[0]), request.inputs, request.outputs, inputs, *pool_));
  Scratch scratch;
  LATHE_TRY_STATUS(candidate->bind(scratch));
  candidate->fill_scratch(scratch);
  Executed executed;
  int calls = 1;
  for (int i = 0; i < std::max(1, request.repeats); ++i) {
    if (request.cold) candidate->flush(scratch);
    const double start = now_seconds();
    for (int call = 0; call < calls; ++call) candidate->run();
    const double seconds = (now_seconds() - start) / calls;
    executed.seconds.push_back(seconds);
    if (i == 0 && !request.cold) calls = calls_for(seconds, request.min_sample_seconds);
  }
  const auto offsets = file_offsets(request.outputs);
  for (std::size_t o = 0; o < request.outputs.size(); ++o)
    LATHE_TRY_STATUS(write_all(message.fds[2].get(), scratch.outputs[o].data(),
                               request.outputs[o].bytes(), offsets[o]));
  return encode(executed);
}

}  // namespace lathe::runner
