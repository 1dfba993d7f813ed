#include "tuner/measure/runner_client.h"

#include <algorithm>
#include <utility>

namespace lathe::measure {
namespace {

constexpr std::int64_t kResidentBytes = std::int64_t{96} << 20;  // in candidates' own memory
constexpr std::size_t kResidentCandidates = 128;

}  // namespace

RunnerClient::RunnerClient(std::string program, runner::RunnerSetup setup, runner::Fd inputs)
    : helper_({"runner", std::move(program), ErrorKind::kRun, runner::RunnerMessages::greeting()}),
      setup_(std::move(setup)),
      inputs_(std::move(inputs)) {}

void RunnerClient::set_reference(runner::Fd file, double max_error) {
  reference_ = std::move(file);
  max_error_ = max_error;
  told_reference_ = 0;
}

void RunnerClient::prepare(const std::function<void(Status)>& then) {
  if (const Status started = helper_.start(); !started) return then(started);
  const int generation = helper_.generation();
  if (held_by_ != generation) held_.clear(), to_drop_.clear(), held_by_ = generation;
  if (told_setup_ != generation) return tell(setup_, inputs_, told_setup_, then);
  if (reference_ && told_reference_ != generation)
    return tell(runner::ReferenceInfo{max_error_}, reference_, told_reference_, then);
  then({});
}

template <class Message>
void RunnerClient::tell(const Message& message, const runner::Fd& file, int& told,
                        const std::function<void(Status)>& then) {
  const int generation = helper_.generation();
  helper_.ask<runner::Ready>(message, {file.get()}, kSetupSeconds,
                             [=, this, &told](const Result<runner::Ready>& reply) {
                               if (!reply) return then(std::unexpected(reply.error()));
                               told = generation;
                               prepare(then);
                             });
}

bool RunnerClient::holds(std::int64_t id) const {
  return helper_.running() && held_by_ == helper_.generation() &&
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
  setup_.shift = shift;
}

void RunnerClient::place(std::vector<int> cpus, bool pinned) {
  helper_.stop();
  setup_.cpus = std::move(cpus);
  setup_.pinned = pinned;
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
