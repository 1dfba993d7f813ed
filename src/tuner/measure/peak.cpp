#include <algorithm>

#include "tuner/measure/session.h"

namespace lathe::measure {
namespace {

constexpr int kRepeats = 40;
constexpr double kLimitSeconds = 60;

}  // namespace

Result<double> measure_peak(Session& session) {
  const KeepOff keep_off(session);
  Result<double> peak = fail(ErrorKind::kInternal, "the machine's peak was not measured");
  const runner::Fd inputs = LATHE_TRY(runner::make_memory_file("lathe-inputs", std::int64_t{1} << 16));
  const runner::Fd outputs = LATHE_TRY(runner::make_memory_file("lathe-outputs", std::int64_t{1} << 16));
  BuiltPeak kernel;
  BuilderClient& builder = *session.builders[0];
  builder.build_peak(kLimitSeconds, [&](Result<BuiltPeak> built) {
    if (!built) {
      peak = std::unexpected(built.error());
      return;
    }
    kernel = std::move(*built);
    session.runner->execute(kernel.built, inputs, outputs, kRepeats, kLimitSeconds,
                            [&](Result<runner::Executed> executed) {
                              if (!executed) peak = std::unexpected(executed.error());
                              else peak = kernel.flops / *std::ranges::min_element(executed->seconds);
                            });
  });
  EventLoop loop = session.loop();
  while (builder.busy() || session.runner->busy()) loop.wait(1);
  return peak;
}

}  // namespace lathe::measure
