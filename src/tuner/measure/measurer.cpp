#include <utility>

#include "base/helper_path.h"
#include "base/temporary_folder.h"
#include "compiler/te/parse.h"
#include "tuner/measure/inputs.h"
#include "tuner/measure/session.h"

namespace lathe::measure {
namespace {

constexpr int kPeakRuns = 40;

class ProcessMeasurer final : public Measurer {
 public:
  Fingerprint machine() const override { return task_.machine(); }
  Status measure(std::vector<Candidate> batch, double best_seconds,
                 const std::function<void(Outcome)>& done,
                 const std::function<bool()>& stop) override {
    task_.take_helpers();
    return measure_batch(task_, std::move(batch), best_seconds, done, stop);
  }
  bool awaits_reference() const override { return task_.awaits_reference; }
  Result<RaceOutcome> race(const std::vector<Candidate>& candidates,
                           const RaceOptions& options) override {
    task_.take_helpers();
    return measure::race(task_, candidates, options);
  }
  Result<double> peak_flops() override {
    task_.take_helpers();
    return measure_peak(task_, kPeakRuns);
  }
  Result<double> bandwidth() override {
    task_.take_helpers();
    return measure_bandwidth(task_);
  }

  Task task_;
};

Result<std::string> path_of(const std::string& given, const char* helper) {
  if (!given.empty()) return given;
  return find_helper(helper);
}

}  // namespace

Result<std::shared_ptr<Session>> open_session(const Target& target, const Options& options) {
  if (options.jobs < 1) return fail(ErrorKind::kInvalidArgument, "--jobs must be at least 1");
  const Device& device = device_of(target.kind());
  LATHE_TRY_STATUS(device.check(target, options));
  remove_abandoned_folders();
  const auto session = std::make_shared<Session>();
  session->target = target;
  session->options = options;
  session->device = &device;
  session->gate = device.gate(target, options);
  const Gate& gate = session->gate;
  const std::string runner = LATHE_TRY(path_of(options.runner, device.runner));
  const std::string builder = LATHE_TRY(path_of(options.builder, "lathe-builder"));
  auto station = std::make_unique<Station>();
  station->machine = device.fingerprint();
  station->runner = std::make_unique<RunnerClient>(runner, gate.timed);
  station->sentinel = SentinelGate(options.sentinel_tolerance);
  session->stations.push_back(std::move(station));
  for (int b = 0; b < gate.builders; ++b)
    session->builders.push_back(
        std::make_unique<BuilderClient>(builder, gate.overlap ? gate.others : std::vector<int>{}));
  if (gate.guest) session->guest = std::make_unique<BuilderClient>(builder, gate.timed);
  // They start while the caller prepares the first batch.
  for (BuilderClient* client : session->all_builders()) LATHE_TRY_STATUS(client->helper().start());
  for (const auto& each : session->stations) LATHE_TRY_STATUS(each->runner->helper().start());
  return session;
}

Result<std::unique_ptr<Measurer>> make_measurer(const std::shared_ptr<Session>& session,
                                                const te::Workload& workload) {
  const Options& options = session->options;
  auto measurer = std::make_unique<ProcessMeasurer>();
  Task& task = measurer->task_;
  task.workload = workload;
  task.rng = Rng(options.seed ^ 0x6d656173757265U);
  task.inputs = random_inputs(workload, options.seed);
  const auto borders = plain_inputs(workload);
  task.running.setup = {.inputs = borders,
                        .outputs = plain_outputs(workload),
                        .threads = session->target.threads(),
                        .memory_bytes = options.memory_bytes};
  task.running.inputs = LATHE_TRY(Asset::of(LATHE_TRY(inputs_file(borders, task.inputs))));
  task.building.setup = {.workload = te::print_workload(workload),
                         .target = session->target.text(),
                         .free_layout = workload.contract.free_layout,
                         .memory_bytes = options.memory_bytes};
  task.session = session;
  return measurer;
}

Result<std::unique_ptr<Measurer>> make_measurer(const te::Workload& workload, const Target& target,
                                                const Options& options) {
  return make_measurer(LATHE_TRY(open_session(target, options)), workload);
}

}  // namespace lathe::measure
