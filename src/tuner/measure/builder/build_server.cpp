#include "tuner/measure/builder/build_server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "base/hash.h"
#include "base/processors.h"
#include "compiler/te/parse.h"
#include "tuner/measure/builder/loads.h"
#include "tuner/measure/cpu/plain_schedule.h"
#include "tuner/measure/device.h"

namespace lathe::builder {
namespace {

using measure::Built;

// Code and library of a lowered program. Every error here is one of building.
Status generate(const flat::Program& program, const Target& target, driver::Backends backends,
                Built& built) {
  driver::Code code = LATHE_TRY(driver::compile(program, target, backends));
  built.library = std::move(code.library);
  built.codegen_seconds = code.generate_seconds;
  built.link_seconds = code.link_seconds;
  built.spills = code.object.spills;
  built.code_bytes = code.object.code_bytes;
  return {};
}

Built describe(const flat::Program& program) {
  Built built;
  built.program_hash = hex(flat::hash(program));
  built.loads_per_multiply = loads_per_multiply(program);
  built.inputs = program.inputs;
  built.outputs = program.outputs;
  return built;
}

void limit_memory([[maybe_unused]] std::int64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // they reserve terabytes of address space
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  rlimit limit{};
  if (bytes <= 0 || !(statm >> pages) || ::getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur =
      std::min(static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes), limit.rlim_max);
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

// References run on the host with one thread, whatever candidates are for.
Result<Target> host_target(driver::Backends backends) {
  Target host = LATHE_TRY(driver::resolve_target(LATHE_TRY(parse_target("cpu:host")), backends));
  host.set_threads(1);
  return host;
}

}  // namespace

Result<Built> build(const te::Workload& workload, const schedule::Trace& trace,
                    const Target& target, driver::Backends backends) try {
  const double start = seconds_now();
  const flat::Program flat_program = LATHE_TRY(driver::lowered(workload, trace, target));
  Built built = describe(flat_program);
  built.lower_seconds = seconds_now() - start;
  LATHE_TRY_STATUS(generate(flat_program, target, backends, built));
  return built;
} catch (const InvariantError& broken) {
  return driver::compiler_bug(broken);
}

void BuildServer::serve() {
  if (!channel_.send(runner::encode(measure::BuilderMessages::greeting()))) return;
  for (;;) {
    const auto message = channel_.receive();
    if (!message) return;
    Result<Reply> reply = std::unexpected(Error{});
    try {
      reply = answer(*message);
    } catch (const InvariantError& broken) {
      reply = driver::compiler_bug(broken);
    }
    if (!channel_.send(reply ? *reply : runner::encode(reply.error()))) return;
  }
}

Result<BuildServer::Reply> BuildServer::answer(const runner::Message& message) {
  switch (message.type) {
    case runner::kSchema<measure::Setup>.type: return set_up(message);
    case runner::kSchema<measure::BuildRequest>.type: return build_candidate(message);
    case runner::kSchema<measure::BuildReference>.type: return build_reference(message);
    case runner::kSchema<measure::BuildPeak>.type: return build_peak();
    case runner::kSchema<measure::BuildStream>.type: return build_stream(message);
    default:
      return fail(ErrorKind::kDataLoss, "the builder does not know request {}", message.type);
  }
}

Result<BuildServer::Reply> BuildServer::set_up(const runner::Message& message) {
  const auto setup = LATHE_TRY(runner::decode<measure::Setup>(message));
  keep_to(setup.cpus);
  known_.clear();
  workload_ = LATHE_TRY(te::parse_workload(setup.workload));
  workload_->contract.free_layout = setup.free_layout;
  target_ = LATHE_TRY(driver::resolve_target(LATHE_TRY(parse_target(setup.target)), backends_));
  const auto make_assembler = measure::device_of(target_.kind()).make_assembler;
  if (make_assembler != nullptr && !assembler_) assembler_ = make_assembler();
  limit_memory(setup.memory_bytes);
  return runner::encode(measure::SetUp{});
}

Result<BuildServer::Reply> BuildServer::build_candidate(const runner::Message& message) {
  const auto request = LATHE_TRY(runner::decode<measure::BuildRequest>(message));
  if (!workload_) return fail(ErrorKind::kDataLoss, "a candidate came before its workload");
  known_.insert(request.known.begin(), request.known.end());
  const auto trace = LATHE_TRY(schedule::trace_from_json(LATHE_TRY(parse_json(request.trace))));
  const double start = seconds_now();
  const flat::Program program = LATHE_TRY(driver::lowered(*workload_, trace, target_));
  Built built = describe(program);
  built.lower_seconds = seconds_now() - start;
  built.known = !request.anew && known_.contains(built.program_hash);
  if (!built.known) LATHE_TRY_STATUS(generate(program, target_, backends_, built));
  if (!built.known && assembler_) LATHE_TRY_STATUS(assembler_->assemble(built));
  return runner::encode(built);
}

Result<BuildServer::Reply> BuildServer::build_reference(const runner::Message& message) {
  const auto request = LATHE_TRY(runner::decode<measure::BuildReference>(message));
  const te::Workload workload = LATHE_TRY(te::parse_workload(request.text));
  const Target host = LATHE_TRY(host_target(backends_));
  auto built = build(workload, measure::cpu::plain_schedule(workload, host), host, backends_);
  if (!built) built = build(workload, {}, host, backends_);  // a loop a statement always works
  if (!built) return std::unexpected(built.error());
  return runner::encode(*built);
}

Result<BuildServer::Reply> BuildServer::build_peak() {
  const auto kernel = measure::device_of(target_.kind()).peak_kernel(target_);
  measure::BuiltPeak peak{describe(kernel.program), kernel.flops};
  LATHE_TRY_STATUS(generate(kernel.program, target_, backends_, peak.built));
  return runner::encode(peak);
}

Result<BuildServer::Reply> BuildServer::build_stream(const runner::Message& message) {
  const auto request = LATHE_TRY(runner::decode<measure::BuildStream>(message));
  const flat::Program program =
      measure::device_of(target_.kind()).stream_kernel(target_, request.read, request.written);
  Built built = describe(program);
  LATHE_TRY_STATUS(generate(program, target_, backends_, built));
  return runner::encode(built);
}

}  // namespace lathe::builder
