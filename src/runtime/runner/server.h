// Answers the tuner's requests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "runtime/runner/engine.h"
#include "runtime/runner/protocol.h"

namespace lathe::runner {

class Server {
 public:
  Server(Channel& channel, Engine& engine) : channel_(channel), engine_(engine) {}
  // Answers until the tuner closes its end, or the engine is no longer usable.
  void serve();

 private:
  // A request's descriptors are closed after the reply.
  using Reply = Packet;
  Result<Reply> answer(Message& message);
  Result<Reply> keep_asset(Message& message);
  Result<int> asset(const std::string& name) const;  // its descriptor
  Result<Reply> set_up(const Message& message);
  Result<Reply> set_reference(const Message& message);
  Result<Reply> load(Message& message);
  Result<Reply> visit(const Message& message);
  Result<Reply> execute(Message& message);

  Status check(Runnable& candidate, const std::vector<tensor::Border>& outputs, Loaded& loaded);
  static void keep(const Sample& sample, Visited& visited);
  static Result<Visited> visit_after_pauses(Runnable& candidate, const VisitRequest& request);
  static Result<int> warm_up(Runnable& candidate, const VisitRequest& request);
  static Status take_samples(Runnable& candidate, const VisitRequest& request, Visited& visited);

  Channel& channel_;
  Engine& engine_;
  std::map<std::string, Fd> assets_;
  std::optional<RunnerSetup> setup_;
  struct Reference {
    std::vector<std::vector<double>> values, bounds;  // one entry for each output
    double max_error = 0;
  };
  std::optional<Reference> reference_;
  std::map<std::int64_t, std::unique_ptr<Runnable>> candidates_;
};

// What the main function of a runner does: serves the tuner that started this process over the
// inherited descriptor, and dies with it. Returns the exit status; `make` makes the engine once it
// is clear that there is a tuner. `program` is its name.
int serve_with(const char* program, const std::function<std::unique_ptr<Engine>()>& make);

}  // namespace lathe::runner
