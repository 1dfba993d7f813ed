// The relocatable objects that are linked into exported artifacts; see artifact.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/target.h"

namespace lathe::artifact {

// Empty where this build has no such object for that machine, for want of a cross compiler.
std::span<const std::byte> runtime_object(Isa isa);
// The same of artifacts for devices of OpenCL, called by programs of that machine; see
// opencl_program.h.
std::span<const std::byte> opencl_runtime_object(Isa isa);

}  // namespace lathe::artifact
