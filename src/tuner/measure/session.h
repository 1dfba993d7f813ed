// What a measurer keeps from one batch to the next.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tuner/measure/builder_client.h"
#include "tuner/measure/device.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/reference.h"
#include "tuner/measure/runner_client.h"
#include "tuner/measure/statistics.h"

namespace lathe::measure {

struct Session {
  te::Workload workload;
  Target target;
  Options options;
  const Device* device = nullptr;
  Fingerprint machine;
  std::vector<std::vector<double>> inputs;  // values, until the reference is known
  std::vector<std::unique_ptr<BuilderClient>> builders;
  // Builds on the runner's processors while nothing is timed; null where all builders do.
  std::unique_ptr<BuilderClient> guest;
  std::unique_ptr<RunnerClient> runner;
  bool awaits_reference = false;  // see Measurer::awaits_reference()
  Gate gate;
  SentinelGate sentinel{0.03};
  Rng rng{0};
  std::int64_t next_id = 1;
  std::map<std::string, Outcome> finished;  // by program hash
  std::vector<std::string> known;           // the keys of `finished`, in order
  std::optional<BuiltPeak> peak_kernel;

  std::vector<BuilderClient*> all_builders() const;  // with the guest
  std::vector<Helper*> helpers() const;
  // Waits for requests of these helpers; see EventLoop.
  EventLoop loop() const { return EventLoop(helpers()); }
};

// Makes the workload's reference known to the runner: it comes from the cache, or is built, run,
// checked and cached. Builders are free for candidates meanwhile.
class ReferenceJob {
 public:
  explicit ReferenceJob(Session& session);
  ~ReferenceJob();
  bool finished() const { return finished_; }
  const Status& result() const { return result_; }

 private:
  struct State;
  void start();
  void execute();
  void on_built(Result<Built> built);
  void on_executed(Result<runner::Executed> executed);
  void finish(Status result);  // of the computing
  void end(Status result);
  Status check(const Reference& reference);
  Status tell(const Reference& reference);
  bool may_try_again(Helper& helper, const Error& error);

  Session& session_;
  int deaths_ = 0;  // of helpers at work on it
  std::unique_ptr<State> state_;
  bool finished_ = false;
  Status result_{};
};
// False: `stop` returned true before there was one.
Result<bool> ensure_reference(Session& session, const std::function<bool()>& stop = {});

// True for an error that says nothing of the program: a file that cannot be written, a process that
// cannot be started, a linker that is missing, a helper of another version.
bool is_of_environment(const Error& error);

// Keeps the calling thread off the processors on which something is timed, for as long as this
// object lives.
class KeepOff {
 public:
  explicit KeepOff(const Session& session);
  ~KeepOff();

 private:
  std::vector<int> before_;
};

Status measure_batch(Session& session, std::vector<Candidate> batch, double best_seconds,
                     const std::function<void(Outcome)>& done, const std::function<bool()>& stop);
Result<RaceOutcome> race(Session& session, const std::vector<Candidate>& candidates,
                         const RaceOptions& options);
// FLOP/s of the fastest of `repeats` runs. Fails when `stop` returns true.
Result<double> measure_peak(Session& session, int repeats, const std::function<bool()>& stop = {});
// See Measurer::bandwidth().
Result<double> measure_bandwidth(Session& session);

}  // namespace lathe::measure
