// A part of verify() (flat.h).
#pragma once

#include "base/result.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

// An error if the buffer is not what the program's border says, or goes beyond its scope's bytes.
Status verify_buffer(const Program& program, const Buffer& buffer);

}  // namespace lathe::flat
