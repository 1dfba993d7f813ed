#include "tuner/measure/runner_client.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "base/target_json.h"

namespace lathe::measure {
namespace {

constexpr std::int64_t kResidentBytes = std::int64_t{96} << 20;  // in candidates' own memory
constexpr std::size_t kResidentCandidates = 128;

}  // namespace

Result<Asset> Asset::of(runner::Fd file) {
  const auto bytes = static_cast<std::int64_t>(::lseek(file.get(), 0, SEEK_END));
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(bytes));
  if (bytes > 0) {
    const auto size = static_cast<std::size_t>(bytes);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED)
      return fail(ErrorKind::kOutOfMemory, "cannot map {} bytes of tensors: {}", bytes,
                  std::strerror(errno));
    const auto* at = static_cast<const std::byte*>(mapped);
    std::size_t done = 0;
    for (std::uint64_t word = 0; size - done >= sizeof word; done += sizeof word) {
      std::memcpy(&word, at + done, sizeof word);
      hasher.add(word);
    }
    hasher.add(std::string_view(reinterpret_cast<const char*>(at) + done, size - done));
    ::munmap(mapped, size);
  }
  return Asset{hex(hasher.value()), bytes, std::move(file)};
}

RunnerClient::RunnerClient(std::string program, std::vector<int> cpus, bool spare)
    : helper_({.name = "runner",
               .program = std::move(program),
               .crash_kind = ErrorKind::kRun,
               .greeting = runner::RunnerMessages::greeting(),
               .spare = spare}),
      cpus_(std::move(cpus)) {}

RunnerClient::RunnerClient(std::string address)
    : helper_({"runner", address, ErrorKind::kRun, runner::RunnerMessages::greeting(), true}),
      address_(std::move(address)) {}

void RunnerClient::describe(double seconds, const Then<Fingerprint>& then) {
  helper_.ask<runner::Described>(
      runner::Describe{}, {}, seconds, [then](const Result<runner::Described>& described) {
        if (!described) return then(std::unexpected(described.error()));
        const auto json = parse_json(described->fingerprint);
        then(json ? fingerprint_from_json(*json) : std::unexpected(json.error()));
      });
}

void RunnerClient::take(const RunnerTask& task) {
  LATHE_CHECK(!busy(), "a runner takes another task while it is busy");
  if (task_ == &task) return;
  task_ = &task;
  begin_anew();
}

void RunnerClient::leave(const RunnerTask& task) {
  for (const Asset* asset : {&task.inputs, task.reference ? &*task.reference : nullptr})
    if (asset != nullptr && kept_.erase(asset->name) > 0) assets_to_drop_.push_back(asset->name);
  if (task_ == &task) task_ = nullptr;
}

void RunnerClient::begin_anew() {
  told_setup_ = told_reference_ = false;
  held_.clear();
  to_drop_.clear();
}

void RunnerClient::prepare(const std::function<void(Status)>& then) {
  LATHE_CHECK(task_ != nullptr, "a runner is asked without a task");
  if (const Status started = helper_.start(); !started) return then(started);
  if (told_ != helper_.generation()) {
    told_ = helper_.generation();
    kept_.clear();
    assets_to_drop_.clear();
    begin_anew();
  }
  if (!kept_.contains(task_->inputs.name)) return keep(task_->inputs, then);
  if (!told_setup_) {
    runner::RunnerSetup setup = task_->setup;
    setup.inputs_asset = task_->inputs.name;
    setup.cpus = cpus_;
    setup.pinned = pinned_;
    setup.shift = shift_;
    return tell(setup, {}, [this] { told_setup_ = true; }, then);
  }
  if (!task_->reference || told_reference_) return then({});
  const Asset& reference = *task_->reference;
  if (!kept_.contains(reference.name)) return keep(reference, then);
  tell(
      runner::ReferenceInfo{reference.name, task_->max_error}, {},
      [this] { told_reference_ = true; }, then);
}

void RunnerClient::keep(const Asset& asset, const std::function<void(Status)>& then) {
  tell(
      runner::KeepAsset{asset.name, std::exchange(assets_to_drop_, {})}, {asset.file.get()},
      [this, &asset] { kept_.insert(asset.name); }, then);
}

// A machine that is lost before it knows the workload says nothing of a candidate.
Error RunnerClient::unprepared(const Error& error) const {
  if (address_.empty() || helper_.running() || is_of_environment(error)) return error;
  return {ErrorKind::kIo, "the device cannot be reached: " + error.message, address_};
}

template <class Message>
void RunnerClient::tell(const Message& message, const std::vector<int>& fds,
                        const std::function<void()>& told,
                        const std::function<void(Status)>& then) {
  helper_.ask<runner::Ready>(message, fds, kSetupSeconds,
                             [=, this](const Result<runner::Ready>& reply) {
                               if (!reply) return then(std::unexpected(unprepared(reply.error())));
                               told();
                               prepare(then);
                             });
}

bool RunnerClient::holds(std::int64_t id) const {
  return helper_.running() && told_ == helper_.generation() &&
         std::ranges::any_of(held_, [&](const Held& held) { return held.id == id; });
}

std::vector<std::int64_t> RunnerClient::make_room() {
  std::int64_t total = 0;
  for (const Held& held : held_) total += held.bytes;
  while (!held_.empty() && (total > kResidentBytes || held_.size() >= kResidentCandidates)) {
    to_drop_.push_back(held_.front().id);
    total -= held_.front().bytes;
    held_.pop_front();
  }
  return std::exchange(to_drop_, {});
}

void RunnerClient::move(std::int64_t shift) {
  helper_.stop();
  shift_ = shift;
}

void RunnerClient::place(std::vector<int> cpus, bool pinned) {
  helper_.stop();
  cpus_ = std::move(cpus);
  pinned_ = pinned;
}

void RunnerClient::forget(std::int64_t id) {
  const auto found = std::ranges::find_if(held_, [&](const Held& held) { return held.id == id; });
  if (found == held_.end()) return;
  to_drop_.push_back(id);
  held_.erase(found);
}

void RunnerClient::send_load(std::int64_t id, const Built& built, bool check, double seconds,
                             const Then<runner::Loaded>& then) {
  prepare([=, this, &built](Status ready) {
    if (!ready) return then(std::unexpected(ready.error()));
    const auto library = runner::make_memory_file("lathe-candidate", std::span(built.library));
    if (!library) return then(std::unexpected(library.error()));
    const runner::Load load{id, built.inputs, built.outputs, check, make_room()};
    helper_.ask<runner::Loaded>(load, {library->get()}, seconds,
                                [=, this](Result<runner::Loaded> loaded) {
                                  if (loaded) held_.push_back({id, loaded->resident_bytes});
                                  then(std::move(loaded));
                                });
  });
}

void RunnerClient::load(std::int64_t id, const Built& built, double seconds,
                        const Then<runner::Loaded>& then) {
  send_load(id, built, true, seconds, then);
}

void RunnerClient::visit(const Built& built, const runner::VisitRequest& visit, double seconds,
                         const Then<runner::Visited>& then) {
  const auto go = [=, this] {
    const auto found =
        std::ranges::find_if(held_, [&](const Held& held) { return held.id == visit.id; });
    held_.splice(held_.end(), held_, found);
    helper_.ask<runner::Visited>(visit, {}, seconds, then);
  };
  if (holds(visit.id)) return go();
  send_load(visit.id, built, false, seconds, [=](Result<runner::Loaded> loaded) {
    if (!loaded) return then(std::unexpected(loaded.error()));
    go();
  });
}

void RunnerClient::execute(const Built& built, const runner::Fd& inputs, const runner::Fd& outputs,
                           runner::Execute how, double seconds,
                           const Then<runner::Executed>& then) {
  how.inputs = built.inputs;
  how.outputs = built.outputs;
  prepare([=, this, &built, &inputs, &outputs](Status ready) {
    if (!ready) return then(std::unexpected(ready.error()));
    const auto library = runner::make_memory_file("lathe-program", std::span(built.library));
    if (!library) return then(std::unexpected(library.error()));
    helper_.ask<runner::Executed>(how, {library->get(), inputs.get(), outputs.get()}, seconds,
                                  then);
  });
}

}  // namespace lathe::measure
