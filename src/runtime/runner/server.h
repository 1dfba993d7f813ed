// Answers the tuner's requests.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "runtime/pool/pool.h"
#include "runtime/runner/candidate.h"
#include "runtime/runner/clock.h"
#include "runtime/runner/protocol.h"

namespace lathe::runner {

class Server {
 public:
  explicit Server(Channel& channel) : channel_(channel) {}
  // Answers until the tuner closes its end.
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

  Status check(Candidate& candidate, Loaded& loaded);
  Status set_guarded(Candidate& candidate, bool guarded);  // the pages next to all that it touches
  void use_threads(int threads, const std::vector<int>& cpus, bool pinned);
  struct Sample {
    double seconds = 0;  // of one call, without lost time
    bool disturbed = false;
    double wall = 0, lost = 0;  // of all its calls
  };
  Sample time_sample(Candidate& candidate, int calls, bool cold);
  static void keep(const Sample& sample, Visited& visited);
  Visited visit_after_pauses(Candidate& candidate, const VisitRequest& request);
  int warm_up(Candidate& candidate, const VisitRequest& request);
  Status limit_memory(std::int64_t bytes);

  Channel& channel_;
  std::map<std::string, Fd> assets_;
  RunnerSetup setup_;
  Inputs inputs_;
  struct Reference {
    std::vector<std::vector<double>> values, bounds;  // one entry for each output
    double max_error = 0;
  };
  std::optional<Reference> reference_;
  std::unique_ptr<pool::Pool> pool_;
  int threads_ = 0;
  std::unique_ptr<LostTime> lost_;  // of the pool's threads
  std::vector<int> cpus_;
  bool pinned_ = true;
  Scratch scratch_;
  std::map<std::int64_t, std::unique_ptr<Candidate>> candidates_;
  Sentinel sentinel_;
};

}  // namespace lathe::runner
