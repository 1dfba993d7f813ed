// A session: helpers and devices, which serve many tasks, one at a time; and what is kept of a task
// from one batch to the next.
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

// A device at work: its runner, and what its sentinel has shown.
struct Station {
  bool elsewhere = false;  // not this machine's, whose processors builders use
  Fingerprint machine;
  std::unique_ptr<RunnerClient> runner;
  SentinelGate sentinel{0.03};
};

struct Session {
  Target target;
  Options options;
  const Device* device = nullptr;
  Gate gate;
  std::vector<std::unique_ptr<BuilderClient>> builders;
  // Builds on the runner's processors while nothing is timed; null where all builders do.
  std::unique_ptr<BuilderClient> guest;
  std::vector<std::unique_ptr<Station>> stations;
  // Stations whose times compare, those of one machine each.
  std::vector<std::vector<Station*>> groups;
  std::size_t tasks = 0;  // that were begun: they get the groups in turn
  // Runs references where no station is this machine's processor; else null.
  std::unique_ptr<RunnerClient> own_host;
  std::int64_t next_id = 1;  // of a candidate
  std::optional<BuiltPeak> peak_kernel;

  Session() = default;
  Session(Session&&) = delete;
  ~Session();
  std::vector<BuilderClient*> all_builders() const;  // with the guest
  std::vector<RunnerClient*> all_runners() const;    // with the host's
  std::vector<Helper*> helpers() const;
  // The runner on this machine's processor.
  RunnerClient& host() const { return own_host ? *own_host : *stations.front()->runner; }
};

struct Task {
  std::shared_ptr<Session> session;
  std::vector<Station*> stations;  // that measure it, of one machine; the first one races
  te::Workload workload;
  std::vector<std::vector<double>> inputs;  // values, until the reference is known
  BuilderTask building;
  RunnerTask running;
  bool awaits_reference = false;  // see Measurer::awaits_reference()
  Rng rng{0};
  std::map<std::string, Outcome> finished;  // by program hash; building.known are its keys

  Task() = default;
  Task(Task&&) = delete;
  ~Task();  // the helpers forget it
  Station& first() const { return *stations.front(); }
  const Fingerprint& machine() const { return first().machine; }
  // From now on the helpers work for it. None of them may be busy.
  void take_helpers();
  // Waits for requests of the helpers; see EventLoop.
  EventLoop loop() const { return EventLoop(session->helpers()); }
};

// Makes the workload's reference known to the runner: it comes from the cache, or is built, run,
// checked and cached. Builders are free for candidates meanwhile.
class ReferenceJob {
 public:
  explicit ReferenceJob(Task& task);
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

  Task& task_;
  int deaths_ = 0;  // of helpers at work on it
  std::unique_ptr<State> state_;
  bool finished_ = false;
  Status result_{};
};
// False: `stop` returned true before there was one.
Result<bool> ensure_reference(Task& task, const std::function<bool()>& stop = {});

// Keeps the calling thread off the processors on which something is timed, for as long as this
// object lives.
class KeepOff {
 public:
  explicit KeepOff(const Gate& gate);
  ~KeepOff();

 private:
  std::vector<int> before_;
};

Status measure_batch(Task& task, std::vector<Candidate> batch, double best_seconds,
                     const std::function<void(Outcome)>& done, const std::function<bool()>& stop);
Result<RaceOutcome> race(Task& task, const std::vector<Candidate>& candidates,
                         const RaceOptions& options);
// FLOP/s of the fastest of `repeats` runs. Fails when `stop` returns true.
Result<double> measure_peak(Task& task, int repeats, const std::function<bool()>& stop = {});
// See Measurer::bandwidth().
Result<double> measure_bandwidth(Task& task);

}  // namespace lathe::measure
