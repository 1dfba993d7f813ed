// The relocatable objects that are linked into exported artifacts; see artifact.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/target.h"

namespace lathe::artifact {

// Of artifacts for devices of this kind, called by programs of that machine (artifact.h; for
// devices opencl_program.h, cuda_program.h). Empty where this build has no such object for that
// machine, for want of a cross compiler.
std::span<const std::byte> runtime_object(DeviceKind kind, Isa isa);

}  // namespace lathe::artifact
