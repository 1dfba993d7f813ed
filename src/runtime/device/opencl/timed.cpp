#include "runtime/device/opencl/timed.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/runner/clock.h"

namespace lathe::opencl {
namespace {

constexpr std::size_t kMostEvents = 1024;  // in the queue at one time

Result<Owned<Event>> enqueue(Device& device, const BoundLaunch& launch) {
  constexpr Number kDimensions = 3;
  const Api& api = device.api();
  Event event = nullptr;
  const Code code =
      api.EnqueueNDRangeKernel(device.queue(), launch.kernel.get(), kDimensions, nullptr,
                               launch.items.data(), launch.group.data(), 0, nullptr, &event);
  LATHE_TRY_STATUS(device.expect(code, "the kernel " + launch.name + " cannot be launched"));
  return Owned<Event>(event, [release = api.ReleaseEvent](Event e) { release(e); });
}

struct Stretch {
  std::uint64_t start = 0, end = 0;  // nanoseconds
};

Result<Stretch> stretch_of(Device& device, const BoundLaunch& launch, Event event) {
  const Api& api = device.api();
  Code status = 0;
  api.GetEventInfo(event, kEventStatus, sizeof status, &status, nullptr);
  if (status < 0) {
    device.set_lost();
    return fail(ErrorKind::kRun, "the kernel {} failed on the device ({})", launch.name,
                name_of(status));
  }
  Stretch s;
  const std::string what = "the device does not tell when the kernel " + launch.name + " ran";
  LATHE_TRY_STATUS(device.expect(
      api.GetEventProfilingInfo(event, kEventStart, sizeof s.start, &s.start, nullptr), what));
  LATHE_TRY_STATUS(device.expect(
      api.GetEventProfilingInfo(event, kEventEnd, sizeof s.end, &s.end, nullptr), what));
  return s;
}

Status run_series(Device& device, std::span<const BoundLaunch> launches, std::size_t calls,
                  DeviceTime& time) {
  constexpr double kNanosecond = 1e-9;
  std::vector<Owned<Event>> events;
  events.reserve(calls * launches.size());
  for (std::size_t call = 0; call < calls; ++call)
    for (const BoundLaunch& launch : launches) events.push_back(LATHE_TRY(enqueue(device, launch)));
  LATHE_TRY_STATUS(device.finish("the device did not finish the candidate"));
  for (std::size_t call = 0; call < calls; ++call) {
    Stretch whole{UINT64_MAX, 0};
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const Stretch s =
          LATHE_TRY(stretch_of(device, launches[i], events[call * launches.size() + i].get()));
      time.kernels += kNanosecond * static_cast<double>(s.end - std::min(s.start, s.end));
      whole = {std::min(whole.start, s.start), std::max(whole.end, s.end)};
    }
    time.spans += kNanosecond * static_cast<double>(whole.end - std::min(whole.start, whole.end));
  }
  return {};
}

}  // namespace

Result<DeviceTime> run_timed(Device& device, std::span<const BoundLaunch> launches, int calls) {
  DeviceTime time;
  if (launches.empty()) return time;
  const std::size_t most = std::max<std::size_t>(1, kMostEvents / launches.size());
  const double start = runner::now_seconds();
  for (std::size_t left = static_cast<std::size_t>(std::max(calls, 0)); left > 0;) {
    const std::size_t now = std::min(left, most);
    LATHE_TRY_STATUS(run_series(device, launches, now, time));
    left -= now;
  }
  time.wall = runner::now_seconds() - start;
  return time;
}

}  // namespace lathe::opencl
