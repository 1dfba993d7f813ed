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
  explicit ProcessMeasurer(Session session) : session_(std::move(session)) {
    remove_abandoned_folders();
  }
  // Removes what killed builders left: its own, and those of tuners killed shortly before it began.
  ~ProcessMeasurer() override {
    for (Helper* helper : session_.helpers()) helper->stop();
    remove_abandoned_folders();
  }

  Fingerprint machine() const override { return session_.machine; }
  Status measure(std::vector<Candidate> batch, double best_seconds,
                 const std::function<void(Outcome)>& done,
                 const std::function<bool()>& stop) override {
    return measure_batch(session_, std::move(batch), best_seconds, done, stop);
  }
  bool awaits_reference() const override { return session_.awaits_reference; }
  Result<RaceOutcome> race(const std::vector<Candidate>& candidates,
                           const RaceOptions& options) override {
    return measure::race(session_, candidates, options);
  }
  Result<double> peak_flops() override { return measure_peak(session_, kPeakRuns); }
  Result<double> bandwidth() override { return measure_bandwidth(session_); }

  Session session_;
};

}  // namespace

Result<std::unique_ptr<Measurer>> make_measurer(const te::Workload& workload, const Target& target,
                                                const Options& options) {
  if (options.jobs < 1) return fail(ErrorKind::kInvalidArgument, "--jobs must be at least 1");
  const Device& device = device_of(target.kind());
  LATHE_TRY_STATUS(device.check(target, options));
  Session session{.workload = workload, .target = target, .options = options, .device = &device};
  session.machine = device.fingerprint();
  session.sentinel = SentinelGate(options.sentinel_tolerance);
  session.rng = Rng(options.seed ^ 0x6d656173757265U);
  session.gate = device.gate(target, options);
  const std::string runner =
      options.runner.empty() ? LATHE_TRY(find_helper(device.runner)) : options.runner;
  const std::string builder =
      options.builder.empty() ? LATHE_TRY(find_helper("lathe-builder")) : options.builder;

  session.inputs = random_inputs(workload, options.seed);
  const auto borders = plain_inputs(workload);
  const runner::RunnerSetup runner_setup{.inputs = borders,
                                         .outputs = plain_outputs(workload),
                                         .threads = target.threads(),
                                         .cpus = session.gate.timed,
                                         .memory_bytes = options.memory_bytes};
  session.runner = std::make_unique<RunnerClient>(runner, runner_setup,
                                                  LATHE_TRY(inputs_file(borders, session.inputs)));
  auto measurer = std::make_unique<ProcessMeasurer>(std::move(session));
  Session& own = measurer->session_;  // `known` stays here
  const auto builder_on = [&](const std::vector<int>& cpus) {
    return std::make_unique<BuilderClient>(
        builder,
        Setup{te::print_workload(workload), target.text(), workload.contract.free_layout,
              options.memory_bytes, cpus},
        own.known);
  };
  const Gate& gate = own.gate;
  for (int b = 0; b < gate.builders; ++b)
    own.builders.push_back(builder_on(gate.overlap ? gate.others : std::vector<int>{}));
  if (gate.guest) own.guest = builder_on(gate.timed);
  // They start while the caller prepares the first batch.
  for (BuilderClient* client : own.all_builders()) LATHE_TRY_STATUS(client->helper().start());
  LATHE_TRY_STATUS(own.runner->helper().start());
  return measurer;
}

}  // namespace lathe::measure
