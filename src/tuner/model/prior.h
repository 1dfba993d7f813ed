// What scores programs before anything is measured, for each kind of device.
#pragma once

#include <memory>

#include "base/target.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"

namespace lathe::model {

// By -log2 cycles, of the analytic model, or for a card of what feature/card_plan.h counts; ready
// from the start. Thread-safe.
std::unique_ptr<search::Scorer> make_prior(const space::Space& space, const Target& target,
                                           const Fingerprint& machine);

}  // namespace lathe::model
