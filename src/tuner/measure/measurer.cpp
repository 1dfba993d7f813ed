#include <algorithm>
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

constexpr double kAnswerSeconds = 10;  // of a runner elsewhere that is asked what it is

Result<Fingerprint> fingerprint_of(RunnerClient& runner) {
  Result<Fingerprint> told = fail(ErrorKind::kInternal, "the runner told nothing of its device");
  runner.describe(kAnswerSeconds, [&](Result<Fingerprint> answer) { told = std::move(answer); });
  EventLoop({&runner.helper()}).finish(runner.helper());
  return told;
}

void add_station(Session& session, std::unique_ptr<RunnerClient> runner, Fingerprint machine,
                 bool elsewhere) {
  auto station = std::make_unique<Station>();
  station->elsewhere = elsewhere;
  station->machine = std::move(machine);
  station->runner = std::move(runner);
  station->sentinel = SentinelGate(session.options.sentinel_tolerance);
  const auto group = std::ranges::find_if(session.groups, [&](const auto& stations) {
    return stations.front()->machine.text() == station->machine.text();
  });
  if (group != session.groups.end()) group->push_back(station.get());
  else session.groups.push_back({station.get()});
  session.stations.push_back(std::move(station));
}

Status add_runners(Session& session) {
  const Options& options = session.options;
  const Device& device = *session.device;
  if (options.here) {
    const std::string path = LATHE_TRY(path_of(options.runner, device.runner));
    add_station(session, std::make_unique<RunnerClient>(path, session.gate.timed, device.spare),
                device.fingerprint(), false);
  }
  const Device& host = device_of(DeviceKind::kCpu);
  if (!options.here || &device != &host) {
    const std::string given = &device == &host ? options.runner : std::string();
    session.own_host =
        std::make_unique<RunnerClient>(LATHE_TRY(path_of(given, host.runner)), std::vector<int>{});
  }
  for (const std::string& address : options.elsewhere) {
    auto runner = std::make_unique<RunnerClient>(address);
    auto machine = fingerprint_of(*runner);
    if (!machine && machine.error().place.empty()) machine.error().place = address;
    add_station(session, std::move(runner), LATHE_TRY(std::move(machine)), true);
  }
  if (session.stations.empty())
    return fail(ErrorKind::kInvalidArgument, "no device is named that could measure");
  return {};
}

}  // namespace

Result<std::shared_ptr<Session>> open_session(const Target& target, const Options& options) {
  if (options.jobs < 1) return fail(ErrorKind::kInvalidArgument, "--jobs must be at least 1");
  const Device& device = device_of(target.kind());
  if (options.cache == CacheMode::kFar && target.kind() != DeviceKind::kCpu)
    return fail_at("--cache", ErrorKind::kInvalidArgument,
                   "the caches of a device are warm or cold, not far");
  if (options.here) LATHE_TRY_STATUS(device.check(target, options));
  remove_abandoned_folders();
  auto session = std::make_shared<Session>();
  session->target = target;
  session->options = options;
  session->device = &device;
  session->gate = options.here ? device.gate(target, options) : Gate{.builders = options.jobs};
  const Gate& gate = session->gate;
  LATHE_TRY_STATUS(add_runners(*session));
  const std::string builder = LATHE_TRY(path_of(options.builder, "lathe-builder"));
  for (int b = 0; b < gate.builders; ++b)
    session->builders.push_back(
        std::make_unique<BuilderClient>(builder, gate.overlap ? gate.others : std::vector<int>{}));
  if (gate.guest) session->guest = std::make_unique<BuilderClient>(builder, gate.timed);
  // They start while the caller prepares the first batch.
  for (Helper* helper : session->helpers()) LATHE_TRY_STATUS(helper->start());
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
  task.stations = session->groups[session->tasks++ % session->groups.size()];
  return measurer;
}

Result<std::unique_ptr<Measurer>> make_measurer(const te::Workload& workload, const Target& target,
                                                const Options& options) {
  return make_measurer(LATHE_TRY(open_session(target, options)), workload);
}

}  // namespace lathe::measure
