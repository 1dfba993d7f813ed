// Runs candidates on this processor, on the threads of a pool.
#pragma once

#include <memory>

#include "runtime/runner/engine.h"

namespace lathe::runner {

std::unique_ptr<Engine> make_cpu_engine();

}  // namespace lathe::runner
