// The cards of this machine, as a process without a driver learns of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "runtime/device/cuda/facts.h"
#include "runtime/device/list.h"

namespace lathe::cuda {

// The cards that the driver shows: it heeds $CUDA_VISIBLE_DEVICES, so numbers count those only.
using Devices = device::List<Facts>;

// Which of these is meant by a number, a UUID or its beginning, or a name; by nothing: what
// $LATHE_CUDA_DEVICE says, else the first. kNotFound names those that are there.
Result<std::size_t> choose_device(const std::vector<Facts>& devices,
                                  const std::string& wanted = "");

// Asks lathe-cuda-runner. Its error is the sentence that says what is missing, with kNotFound;
// $LATHE_CUDA_DEVICE and $LATHE_CUDA_LIBRARY count there as in every runner.
Result<Devices> ask_for_devices();

Result<Devices> devices_from_json(const Json& json);

}  // namespace lathe::cuda
