// The relocatable object that is linked into exported artifacts, see artifact.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/target.h"

namespace lathe::artifact {

// Empty where this build has none for that machine (no cross compiler was found).
std::span<const std::byte> runtime_object(Isa isa);

}  // namespace lathe::artifact
