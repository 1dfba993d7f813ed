// What the programs of all kinds of devices are: `lathe-KIND-runner` serves, and `lathe-KIND-runner
// --devices [FILE]` writes what devices there are, as JSON, to the file or its output.
#pragma once

#include <functional>
#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "runtime/runner/engine.h"

namespace lathe::device {

// The exit code. `name` is the program's.
int run_helper(int count, char** words, const char* name,
               const std::function<Result<Json>()>& list_devices,
               const std::function<std::unique_ptr<runner::Engine>()>& make_engine);

}  // namespace lathe::device
