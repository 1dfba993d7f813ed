#include "tuner/model/prior.h"

#include "tuner/feature/card_plan.h"
#include "tuner/model/analytic.h"

namespace lathe::model {

std::unique_ptr<search::Scorer> make_prior(const space::Space& space, const Target& target,
                                           const Fingerprint& machine) {
  if (target.kind() == DeviceKind::kCuda)
    return std::make_unique<NestScorer<feature::CardPlan, CudaTarget>>(space, target.as_cuda());
  return std::make_unique<AnalyticScorer>(space, core_of(target, machine));
}

}  // namespace lathe::model
