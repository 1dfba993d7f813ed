#include "runtime/device/opencl/candidate.h"

#include <algorithm>
#include <utility>

#include "runtime/device/opencl/timed.h"

namespace lathe::opencl {

Result<std::unique_ptr<DeviceCandidate>> DeviceCandidate::open(Device& device,
                                                               const BinaryCache& cache,
                                                               GuardedMemory& flushed,
                                                               const Image& image,
                                                               device::Surroundings around) {
  std::unique_ptr<DeviceCandidate> candidate(
      new DeviceCandidate(device, flushed, std::move(around), device::demands_of(image)));
  LATHE_TRY_STATUS(candidate->check_sizes());
  LATHE_TRY_STATUS(check_fits(image, device.facts()));
  candidate->program_ = LATHE_TRY(Program::build(device, image, cache));
  LATHE_TRY_STATUS(candidate->place());
  return candidate;
}

Result<double> DeviceCandidate::run_prepare() {
  const auto launches =
      LATHE_TRY(program_->bind(demands().prepare, [&](const Argument& a) { return part_of(a); }));
  return LATHE_TRY(run_timed(device_, launches, 1)).wall;
}

Status DeviceCandidate::bind(bool) {
  const auto buffers = [&](const Argument& a) { return part_of(a); };
  if (!launches_.empty()) return program_->rebind(demands().run, buffers, launches_);
  launches_ = LATHE_TRY(program_->bind(demands().run, buffers));
  return {};
}

// Writes more than the device's caches hold.
Status DeviceCandidate::flush() {
  constexpr std::int64_t kLeast = 16 << 20, kMost = 256 << 20;  // bytes
  const Facts& facts = device_.facts();
  LATHE_TRY_STATUS(
      flushed_.resize(device_, "the caches",
                      std::min(std::clamp(4 * std::min(facts.cache_bytes, kMost), kLeast, kMost),
                               facts.allocation_bytes / 4)));
  return flushed_.fill();
}

Result<runner::Sample> DeviceCandidate::call(int calls, CacheMode cache) {
  if (cache == CacheMode::kCold) LATHE_TRY_STATUS(flush());
  const DeviceTime time = LATHE_TRY(run_timed(device_, launches_, calls));
  // Between the kernels of a first call the driver may still compile.
  const double seconds = std::exchange(called_, true) ? time.spans : time.kernels;
  return runner::Sample{seconds / std::max(calls, 1), false, time.wall, 0};
}

Status DeviceCandidate::warm() {
  LATHE_TRY(run_timed(device_, launches_, 1));
  return {};
}

}  // namespace lathe::opencl
