// The devices of OpenCL, as a process without a driver learns of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "runtime/device/list.h"
#include "runtime/device/opencl/facts.h"

namespace lathe::opencl {

using Devices = device::List<Facts>;

// Asks lathe-opencl-runner: drivers bring compilers and threads of their own, and may crash. Its
// error is the sentence that says what is missing, with kNotFound; $LATHE_OPENCL_DEVICE and
// $LATHE_OPENCL_LIBRARY count there as in every runner.
Result<Devices> ask_for_devices();

Result<Devices> devices_from_json(const Json& json);

}  // namespace lathe::opencl
