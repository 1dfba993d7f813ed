#include "runtime/runner/server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "base/target_json.h"
#include "runtime/runner/check.h"
#include "runtime/runner/clock.h"
#include "runtime/runner/crash.h"

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

// How many calls of `call` seconds each take as long as a sample should.
int calls_for(double call, double sample) {
  return static_cast<int>(std::clamp(std::ceil(sample / std::max(call, 1e-9)), 1.0, 1e6));
}

Status begin(Runnable& candidate, bool checked) {
  renew_crash_handlers();
  return candidate.begin(checked);
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
    if (!engine_.usable()) {
      const Error broken{ErrorKind::kRun, "the device works no longer for this process", {}};
      static_cast<void>(channel_.send(encode(Broken{reply ? broken : reply.error()})));
      return;
    }
    if (!channel_.send(reply ? *reply : encode(reply.error()))) return;
  }
}

Result<Server::Reply> Server::answer(Message& message) {
  switch (message.type) {
    case kSchema<Describe>.type: {
      const Fingerprint machine = LATHE_TRY(engine_.machine());
      return encode(Described{to_json(machine).dump()});
    }
    case kSchema<KeepAsset>.type: return keep_asset(message);
    case kSchema<RunnerSetup>.type: return set_up(message);
    case kSchema<ReferenceInfo>.type: return set_reference(message);
    case kSchema<Load>.type: return load(message);
    case kSchema<VisitRequest>.type: return visit(message);
    case kSchema<Execute>.type: return execute(message);
    default: return fail(ErrorKind::kDataLoss, "the runner does not know request {}", message.type);
  }
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
  setup_.reset();
  RunnerSetup setup = LATHE_TRY(decode<RunnerSetup>(message));
  for (const auto& border : setup.inputs) LATHE_TRY_STATUS(tensor::verify(border));
  for (const auto& border : setup.outputs) LATHE_TRY_STATUS(tensor::verify(border));
  if (setup.shift < 0 || setup.shift % 16 != 0 || setup.shift > kLargestShift)
    return fail(ErrorKind::kDataLoss, "tensors cannot be shifted by {} bytes", setup.shift);
  LATHE_TRY_STATUS(engine_.set_up(setup, LATHE_TRY(asset(setup.inputs_asset))));
  setup_ = std::move(setup);
  return encode(Ready{});
}

Result<Server::Reply> Server::set_reference(const Message& message) {
  if (!setup_) return fail(ErrorKind::kDataLoss, "a reference came before its workload");
  const auto info = LATHE_TRY(decode<ReferenceInfo>(message));
  const int file = LATHE_TRY(asset(info.asset));
  Reference reference;
  reference.max_error = info.max_error;
  std::int64_t offset = 0;
  for (const auto& border : setup_->outputs) {
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
  if (!setup_) return fail(ErrorKind::kDataLoss, "a candidate came before its workload");
  for (const std::int64_t id : request.drop) candidates_.erase(id);
  for (const auto& border : request.outputs) LATHE_TRY_STATUS(tensor::verify(border));
  auto candidate =
      LATHE_TRY(engine_.open(std::move(message.fds[0]), request.inputs, request.outputs, nullptr));
  LATHE_TRY_STATUS(begin(*candidate, true));
  Loaded loaded;
  const Sample first = LATHE_TRY(candidate->call(1, CacheMode::kWarm));
  loaded.first_seconds = first.seconds;
  candidate->call_seconds = loaded.first_seconds / kFirstCallIsSlower;
  loaded.prepare_seconds = candidate->prepare_seconds();
  loaded.resident_bytes = candidate->resident_bytes();
  LATHE_TRY_STATUS(candidate->check_memory());
  if (request.check) LATHE_TRY_STATUS(check(*candidate, request.outputs, loaded));
  candidates_[request.id] = std::move(candidate);
  return encode(loaded);
}

Status Server::check(Runnable& candidate, const std::vector<tensor::Border>& outputs,
                     Loaded& loaded) {
  if (!reference_) return fail(ErrorKind::kDataLoss, "a candidate came before its reference");
  if (outputs.size() != setup_->outputs.size())
    return fail(ErrorKind::kRun, "the candidate has {} outputs, the workload {}", outputs.size(),
                setup_->outputs.size());
  std::vector<Comparison> comparisons;
  std::vector<std::vector<std::byte>> unpacked(outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const tensor::Border& border = outputs[o];
    if (border.shape != setup_->outputs[o].shape || border.dtype != setup_->outputs[o].dtype)
      return fail_at(border.name, ErrorKind::kRun,
                     "the candidate's output differs from the workload's");
    const void* got = LATHE_TRY(candidate.output(o));
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

// Runs the candidate until it is warm. Returns how many calls a sample takes.
Result<int> Server::warm_up(Runnable& candidate, const VisitRequest& request) {
  const double least = request.min_sample_seconds;
  if (!candidate.empties(request.cache) && candidate.call_seconds >= std::max(kLongCall, least)) {
    LATHE_TRY_STATUS(candidate.warm());
    return 1;
  }
  // Fills page tables, trains branch prediction, and gives an estimate that is often too long.
  const double first = LATHE_TRY(candidate.call(1, request.cache)).seconds;
  if (candidate.empties(request.cache) || first >= least) return 1;
  const double second =
      LATHE_TRY(candidate.call(calls_for(first, least), CacheMode::kWarm)).seconds;
  return calls_for(std::min(first, second), least);
}

void Server::keep(const Sample& sample, Visited& visited) {
  (sample.disturbed ? visited.disturbed : visited.seconds).push_back(sample.seconds);
  visited.wall_seconds += sample.wall;
  visited.lost_seconds += sample.lost;
}

// As a program calls it now and then: threads are asleep, clocks and caches at rest.
Result<Visited> Server::visit_after_pauses(Runnable& candidate, const VisitRequest& request) {
  Visited visited;
  const timespec pause{static_cast<time_t>(request.pause_seconds),
                       static_cast<long>(1e9 * std::fmod(request.pause_seconds, 1))};
  LATHE_TRY(candidate.call(1, CacheMode::kWarm));
  for (int i = 0; i < std::min(request.pauses, static_cast<int>(kMostSamples)); ++i) {
    ::nanosleep(&pause, nullptr);
    visited.seconds.push_back(LATHE_TRY(candidate.call(1, request.cache)).wall);
  }
  return visited;
}

Status Server::take_samples(Runnable& candidate, const VisitRequest& request, Visited& visited) {
  double disturbed = 0;  // part of the time since `start`
  const double start = now_seconds();
  for (double now = start; visited.seconds.size() + visited.disturbed.size() < kMostSamples;) {
    const Sample sample = LATHE_TRY(candidate.call(visited.calls, request.cache));
    const double before = std::exchange(now, now_seconds());
    keep(sample, visited);
    candidate.call_seconds = sample.seconds;
    if (sample.disturbed) disturbed += now - before;
    const bool enough = now - start - disturbed >= request.min_seconds ||
                        now - start >= kPatience * request.min_seconds;
    if (enough || (request.drop_above > 0 && sample.seconds > request.drop_above)) break;
  }
  return {};
}

Result<Server::Reply> Server::visit(const Message& message) {
  const VisitRequest request = LATHE_TRY(decode<VisitRequest>(message));
  const auto found = candidates_.find(request.id);
  if (found == candidates_.end())
    return fail(ErrorKind::kDataLoss, "candidate {} is not loaded", request.id);
  Runnable& candidate = *found->second;
  LATHE_TRY_STATUS(begin(candidate, false));
  if (request.pause_seconds > 0) return encode(LATHE_TRY(visit_after_pauses(candidate, request)));
  Visited visited;
  visited.sentinel_before = engine_.sentinel();
  visited.calls = LATHE_TRY(warm_up(candidate, request));
  LATHE_TRY_STATUS(take_samples(candidate, request, visited));
  visited.sentinel_after = engine_.sentinel();
  return encode(visited);
}

Result<Server::Reply> Server::execute(Message& message) {
  LATHE_TRY_STATUS(same_count(message.fds.size(), 3));
  const Execute request = LATHE_TRY(decode<Execute>(message));
  for (const auto& border : request.inputs) LATHE_TRY_STATUS(tensor::verify(border));
  for (const auto& border : request.outputs) LATHE_TRY_STATUS(tensor::verify(border));
  if (!setup_) return fail(ErrorKind::kDataLoss, "a program came before its workload");
  auto candidate = LATHE_TRY(
      engine_.open(std::move(message.fds[0]), request.inputs, request.outputs, &message.fds[1]));
  LATHE_TRY_STATUS(begin(*candidate, true));
  Executed executed;
  int calls = 1;
  for (int i = 0; i < std::max(1, request.repeats); ++i) {
    const double seconds = LATHE_TRY(candidate->call(calls, request.cache)).wall / calls;
    executed.seconds.push_back(seconds);
    if (i == 0 && !candidate->empties(request.cache))
      calls = calls_for(seconds, request.min_sample_seconds);
  }
  const auto offsets = file_offsets(request.outputs);
  for (std::size_t o = 0; o < request.outputs.size(); ++o)
    LATHE_TRY_STATUS(write_all(message.fds[2].get(), LATHE_TRY(candidate->output(o)),
                               request.outputs[o].bytes(), offsets[o]));
  return encode(executed);
}

int serve_with(const char* program, const std::function<std::unique_ptr<Engine>()>& make) {
  if (::fcntl(kChannelFd, F_GETFD) < 0) {
    std::fprintf(stderr, "%s is started by lathe and has no use of its own\n", program);
    return 2;
  }
  ::fcntl(kChannelFd, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // so that a busy candidate does not outlive its tuner
  ::signal(SIGINT, SIG_IGN);           // the tuner handles Ctrl-C
  install_crash_handlers(kChannelFd);
  Channel channel(Fd(kChannelFd), Patience::kEndless);
  const auto engine = make();
  Server(channel, *engine).serve();
  return engine->usable() ? 0 : 1;
}

}  // namespace lathe::runner
