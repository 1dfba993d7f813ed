#include "tuner/measure/cpu/device.h"

#include <utility>

#include "base/processors.h"
#include "tuner/measure/cpu/peak_kernel.h"
#include "tuner/measure/cpu/stream_kernel.h"

namespace lathe::measure::cpu {
namespace {

// Programs that are not timed may have more threads than processors.
Status check(const Target& target, const Options& options) {
  const auto cpus = static_cast<int>(allowed_processors().size());
  const int threads = target.threads();
  if (threads > cpus && options.visits > 0)
    return fail(ErrorKind::kInvalidArgument,
                "{} threads cannot be timed on {} processors; use --threads {}", threads, cpus,
                cpus);
  return {};
}

// Where the timed threads leave no processor or no job, building and timing take turns.
Gate gate(const Target& target, const Options& options) {
  const int threads = target.threads();
  Places places = places_for(threads);
  const bool overlap = options.jobs > threads && !places.others.empty();
  return {.timed = std::move(places.timed),
          .others = std::move(places.others),
          .overlap = overlap,
          .builders = overlap ? options.jobs - threads : options.jobs,
          .guest = overlap};
}

PeakKernel peak(const Target& target) { return peak_kernel(target.as_cpu()); }
flat::Program stream(const Target& target, std::int64_t read, std::int64_t written) {
  return stream_kernel(target.as_cpu(), read, written);
}

constexpr Device kDevice{.kind = DeviceKind::kCpu,
                         .runner = "lathe-runner",
                         .watched = "guard pages",
                         .opening_seconds = 0,
                         .fingerprint = host_fingerprint,
                         .check = check,
                         .gate = gate,
                         .peak_kernel = peak,
                         .stream_kernel = stream};

}  // namespace

const Device& device() { return kDevice; }

}  // namespace lathe::measure::cpu
