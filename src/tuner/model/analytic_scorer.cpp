// The analytic models, by kind of device.
#include "tuner/model/analytic.h"

namespace lathe::model {
namespace {

std::unique_ptr<search::Scorer> by_cycles(const space::Space& space, const Target& target,
                                          const Fingerprint& fingerprint) {
  return std::make_unique<AnalyticScorer>(space, machine_of(target, fingerprint));
}

struct ForDevice {
  DeviceKind device;
  std::unique_ptr<search::Scorer> (*make)(const space::Space& space, const Target& target,
                                          const Fingerprint& fingerprint);
};
constexpr ForDevice kDevices[] = {{DeviceKind::kCpu, by_cycles}, {DeviceKind::kOpenCl, by_cycles}};

}  // namespace

Result<std::unique_ptr<search::Scorer>> analytic_scorer(const space::Space& space,
                                                        const Target& target,
                                                        const Fingerprint& fingerprint) {
  for (const ForDevice& each : kDevices)
    if (each.device == target.kind()) return each.make(space, target, fingerprint);
  return fail(ErrorKind::kUnsupported,
              "no analytic model knows devices like {}; its programs cannot be scored unmeasured",
              target.text());
}

}  // namespace lathe::model
