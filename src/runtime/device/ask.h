// What devices there are, as a process without a driver learns of them: it asks their runner.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace lathe::device {

// Starts the helper with `--devices` and returns what it wrote: drivers bring compilers and threads
// of their own, and may crash. Its error is the sentence that says what is missing, with kNotFound;
// where it says nothing, `driver` ("the driver of OpenCL") crashed.
Result<Json> ask_for_devices(const std::string& helper, const std::string& driver);

}  // namespace lathe::device
