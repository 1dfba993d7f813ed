// Tells how good the model's scores turned out to be. Internal to this room.
#pragma once

#include "api/report/trial.h"

namespace lathe::report {

// One point for each batch that was scored, or for several batches where there are many.
std::vector<Quality> model_quality(Trials trials);

}  // namespace lathe::report
