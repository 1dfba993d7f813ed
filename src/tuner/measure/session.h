// What a measurer keeps from batch to batch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tuner/measure/builder_client.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/reference.h"
#include "tuner/measure/runner_client.h"
#include "tuner/measure/statistics.h"

namespace lathe::measure {

struct Session {
  te::Program program;
  Target target;
  Options options;
  Fingerprint machine = host_fingerprint();
  std::vector<std::vector<double>> inputs;  // values, until the reference is known
  std::vector<std::unique_ptr<BuilderClient>> builders;
  std::unique_ptr<RunnerClient> runner;
  bool overlap = true;  // build while something is timed
  std::vector<int> runner_cpus, other_cpus;
  SentinelGate gate{0.03};
  Rng rng{0};
  std::int64_t next_id = 1;
  std::map<std::string, Outcome> finished;  // by program hash
  std::vector<std::string> known;           // its keys, in order
  std::optional<BuiltPeak> peak_kernel;

  std::vector<Helper*> helpers() const;
  // Waits for requests of these helpers; see EventLoop.
  EventLoop loop() const { return EventLoop(helpers()); }
};

// Makes the workload's reference known to the runner: from the cache, or built, run, checked and
// cached. Builders are free for candidates while it runs.
class ReferenceJob {
 public:
  explicit ReferenceJob(Session& session);
  ~ReferenceJob();
  bool finished() const { return finished_; }
  const Status& result() const { return result_; }

 private:
  struct Run;
  void start();
  void on_built(Result<Built> built);
  void on_executed(Result<runner::Executed> executed);
  void finish(Status result);
  Status check(const Reference& reference);
  Status tell(const Reference& reference);

  Session& session_;
  std::unique_ptr<Run> run_;
  bool finished_ = false;
  Status result_{};
};
// Gives up where `stop` says so; an error then.
Status ensure_reference(Session& session, const std::function<bool()>& stop = {});

// The calling thread keeps off the processors something is timed on, while this lives.
class KeepOff {
 public:
  explicit KeepOff(const Session& session);
  ~KeepOff();

 private:
  std::vector<int> before_;
};
std::vector<int> allowed_cpus();

Status measure_batch(Session& session, std::vector<Candidate> batch, double best_seconds,
                     const std::function<void(Outcome)>& done, const std::function<bool()>& stop);
Result<RaceOutcome> race(Session& session, const std::vector<Candidate>& candidates,
                         const RaceOptions& options);
// FLOP/s: of the fastest of so many runs.
Result<double> measure_peak(Session& session, int repeats);
// As Measurer::bandwidth() has it.
Result<double> measure_bandwidth(Session& session);

}  // namespace lathe::measure
