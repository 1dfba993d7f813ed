#include "tuner/measure/builder_client.h"

namespace lathe::measure {
BuilderClient::BuilderClient(std::string program, std::vector<int> cpus)
    : helper_({"builder", std::move(program), ErrorKind::kBuild, BuilderMessages::greeting()}),
      cpus_(std::move(cpus)) {}

void BuilderClient::take(const BuilderTask& task) {
  LATHE_CHECK(!busy(), "a builder takes another task while it is busy");
  if (task_ != &task) told_setup_ = 0;
  task_ = &task;
}

void BuilderClient::leave(const BuilderTask& task) {
  if (task_ == &task) task_ = nullptr;
}

void BuilderClient::prepare(const std::function<void(Status)>& then) {
  if (const Status started = helper_.start(); !started) return then(started);
  const int generation = helper_.generation();
  if (told_setup_ == generation) return then({});
  LATHE_CHECK(task_ != nullptr, "a builder is asked without a task");
  Setup setup = task_->setup;
  setup.cpus = cpus_;
  helper_.ask<SetUp>(setup, {}, kSetupSeconds, [=, this](const Result<SetUp>& reply) {
    if (!reply) return then(std::unexpected(reply.error()));
    told_setup_ = generation;
    told_known_ = 0;
    then({});
  });
}

template <class Answer, class Request>
void BuilderClient::ask(const Request& message, double seconds, const Then<Answer>& then) {
  prepare([=, this](Status ready) {
    if (!ready) return then(std::unexpected(ready.error()));
    helper_.ask<Answer>(message, {}, seconds, then);
  });
}

void BuilderClient::build(const std::string& trace_json, bool anew, double seconds,
                          const Then<Built>& then) {
  prepare([=, this](Status ready) {
    if (!ready) return then(std::unexpected(ready.error()));
    const auto& known = task_->known;
    const BuildRequest request{
        trace_json, anew, {known.begin() + static_cast<std::ptrdiff_t>(told_known_), known.end()}};
    told_known_ = known.size();
    helper_.ask<Built>(request, {}, seconds, then);
  });
}

void BuilderClient::build_reference(const std::string& text, double seconds,
                                    const Then<Built>& then) {
  ask(BuildReference{text}, seconds, then);
}

void BuilderClient::build_peak(double seconds, const Then<BuiltPeak>& then) {
  ask(BuildPeak{}, seconds, then);
}

void BuilderClient::build_stream(const BuildStream& stream, double seconds,
                                 const Then<Built>& then) {
  ask(stream, seconds, then);
}

}  // namespace lathe::measure
