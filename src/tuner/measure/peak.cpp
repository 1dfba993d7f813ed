// Measures how fast the machine is: its multiply-adds, and its memory.
#include <algorithm>

#include "tuner/measure/inputs.h"
#include "tuner/measure/session.h"

namespace lathe::measure {
namespace {

constexpr double kLimitSeconds = 60;
constexpr double kSampleSeconds = 50e-6;
// In bytes, for each direction. A larger kernel would measure the same memory.
constexpr std::int64_t kMostStreamed = std::int64_t{256} << 20;
// In bytes, for all runs together, unless that makes too few or too many of them.
constexpr double kStreamedBytes = 2e9;

// What `ask` has the helper do. As for candidates, the death of a helper counts the second time.
template <class Answer>
Result<Answer> answer_of(Task& task, Helper& helper,
                         const std::function<void(const Helper::Then<Answer>&)>& ask,
                         const std::function<bool()>& stop = {}) {
  Result<Answer> answer = fail(ErrorKind::kInternal, "nothing was done");
  for (int deaths = 0; deaths < 2; ++deaths) {
    ask([&](Result<Answer> told) { answer = std::move(told); });
    EventLoop loop = task.loop();
    loop.finish(helper, stop);
    const bool died = !answer && !helper.running() && !is_of_environment(answer.error()) &&
                      answer.error().kind != ErrorKind::kTimeout;
    if (!died || (stop && stop())) break;
  }
  return answer;
}

// The seconds of the fastest of `repeats` runs.
Result<double> fastest_run(Task& task, const Built& kernel, const runner::Fd& inputs,
                           const runner::Fd& outputs, int repeats, CacheMode cache,
                           const std::function<bool()>& stop = {}) {
  const runner::Execute how{
      .repeats = repeats, .min_sample_seconds = kSampleSeconds, .cache = cache};
  RunnerClient& runner = *task.first().runner;
  const auto executed = LATHE_TRY(answer_of<runner::Executed>(
      task, runner.helper(),
      [&](const auto& then) { runner.execute(kernel, inputs, outputs, how, kLimitSeconds, then); },
      stop));
  return std::ranges::min(executed.seconds);
}

// Makes a file in memory that is large enough for the kernel's tensors.
Result<runner::Fd> file_for(const std::vector<tensor::Border>& borders) {
  return runner::make_memory_file("lathe-tensors", runner::file_offsets(borders).back());
}

Status build_peak_kernel(Task& task) {
  if (task.session->peak_kernel) return {};
  BuilderClient& builder = *task.session->builders[0];
  task.session->peak_kernel = LATHE_TRY(answer_of<BuiltPeak>(
      task, builder.helper(), [&](const auto& then) { builder.build_peak(kLimitSeconds, then); }));
  return {};
}

std::int64_t bytes_of(const std::vector<tensor::Border>& borders) {
  std::int64_t bytes = 0;
  for (const tensor::Border& border : borders) bytes += border.bytes();
  return std::min(bytes, kMostStreamed);
}

}  // namespace

Result<double> measure_peak(Task& task, int repeats, const std::function<bool()>& stop) {
  const KeepOff keep_off(task.session->gate);
  LATHE_TRY_STATUS(build_peak_kernel(task));
  const BuiltPeak& kernel = *task.session->peak_kernel;
  const runner::Fd inputs = LATHE_TRY(file_for(kernel.built.inputs)),
                   outputs = LATHE_TRY(file_for(kernel.built.outputs));
  return kernel.flops / LATHE_TRY(fastest_run(task, kernel.built, inputs, outputs, repeats,
                                              CacheMode::kWarm, stop));
}

Result<double> measure_bandwidth(Task& task) {
  const KeepOff keep_off(task.session->gate);
  const BuildStream stream{bytes_of(plain_inputs(task.workload)),
                           bytes_of(plain_outputs(task.workload))};
  BuilderClient& builder = *task.session->builders[0];
  const Built kernel = LATHE_TRY(answer_of<Built>(task, builder.helper(), [&](const auto& then) {
    builder.build_stream(stream, kLimitSeconds, then);
  }));
  const runner::Fd inputs = LATHE_TRY(file_for(kernel.inputs)),
                   outputs = LATHE_TRY(file_for(kernel.outputs));
  const auto bytes = static_cast<double>(stream.read + stream.written);
  const int repeats =
      static_cast<int>(std::clamp(kStreamedBytes / std::max(1.0, bytes), 5.0, 200.0));
  return bytes / LATHE_TRY(fastest_run(task, kernel, inputs, outputs, repeats,
                                       task.session->options.cache));
}

}  // namespace lathe::measure
