// Random recurrences: stages that need each other step by step, element by element or with sums and
// neighbours of the step before.
#pragma once

#include <string>

#include "base/rng.h"

namespace lathe {

std::string recurrent_text(Rng& rng, bool dtypes);

}  // namespace lathe
