// Random programs of several stages that read one another in every way that the text form allows:
// element-wise, padded at every place, transposed, through windows, one tensor as both operands,
// rows reduced and then mapped, products of products. random_workload() makes them, too.
#pragma once

#include <string>

#include "base/rng.h"

namespace lathe {

// A program in the text form; with `dtypes` of any element type, the same for the whole program.
std::string staged_text(Rng& rng, bool dtypes);

}  // namespace lathe
