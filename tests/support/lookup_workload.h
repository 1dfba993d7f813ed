// Random expressions whose indices are not affine: divided, clamped, mirrored, read from tables and
// tensors.
#pragma once

#include <string>

#include "base/rng.h"

namespace lathe {

// `type`: of the tensors that are not indices.
std::string lookup_text(Rng& rng, const std::string& type);

}  // namespace lathe
