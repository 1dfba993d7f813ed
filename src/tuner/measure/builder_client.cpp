#include "tuner/measure/builder_client.h"

namespace lathe::measure {
BuilderClient::BuilderClient(std::string program, Setup setup,
                             const std::vector<std::string>& known)
    : helper_({"builder", std::move(program), ErrorKind::kBuild}),
      setup_(std::move(setup)),
      known_(known) {}

void BuilderClient::prepare(const std::function<void(Status)>& then) {
  if (const Status started = helper_.start(); !started) return then(started);
  const int generation = helper_.generation();
  if (told_setup_ == generation) return then({});
  helper_.request(kSetup, encode(setup_), {}, kSetupSeconds, [=, this](Helper::Reply reply) {
    if (!reply) return then(std::unexpected(reply.error()));
    told_setup_ = generation;
    told_known_ = 0;
    then({});
  });
}

void BuilderClient::build(const std::string& trace_json, bool anew, double seconds,
                          const Then<Built>& then) {
  prepare([=, this](Status ready) {
    if (!ready) return then(std::unexpected(ready.error()));
    BuildRequest request{trace_json,
                         anew,
                         {known_.begin() + static_cast<std::ptrdiff_t>(told_known_), known_.end()}};
    told_known_ = known_.size();
    helper_.request(kBuild, encode(request), {}, seconds, [then](Helper::Reply reply) {
      if (!reply) return then(std::unexpected(reply.error()));
      then(decode_built(reply->body));
    });
  });
}

void BuilderClient::build_program(const std::string& text, double seconds,
                                  const Then<Built>& then) {
  prepare([=, this](Status ready) {
    if (!ready) return then(std::unexpected(ready.error()));
    helper_.request(kBuildProgram, encode(BuildProgram{text}), {}, seconds,
                    [then](Helper::Reply reply) {
                      if (!reply) return then(std::unexpected(reply.error()));
                      then(decode_built(reply->body));
                    });
  });
}

void BuilderClient::build_peak(double seconds, const Then<BuiltPeak>& then) {
  prepare([=, this](Status ready) {
    if (!ready) return then(std::unexpected(ready.error()));
    helper_.request(kBuildPeak, {}, {}, seconds, [then](Helper::Reply reply) {
      if (!reply) return then(std::unexpected(reply.error()));
      then(decode_peak(reply->body));
    });
  });
}

void BuilderClient::build_stream(const BuildStream& stream, double seconds,
                                 const Then<Built>& then) {
  prepare([=, this](Status ready) {
    if (!ready) return then(std::unexpected(ready.error()));
    helper_.request(kBuildStream, encode(stream), {}, seconds, [then](Helper::Reply reply) {
      if (!reply) return then(std::unexpected(reply.error()));
      then(decode_built(reply->body));
    });
  });
}

}  // namespace lathe::measure
