// What the functions of exported libraries for devices do alike. `driver` is what sentences call
// the driver: "OpenCL", "CUDA".
#pragma once

#include <cstdint>

#include "runtime/artifact/check.h"
#include "runtime/artifact/device/handle.h"

namespace lathe::artifact {

// The message of the last create that made no handle, for lathe_artifact_message(NULL).
Message& create_message();
std::int32_t refuse_create(std::int32_t status, const char* why);

// Whether another process asked for a device here first, and this one is its child: a driver does
// not survive a fork. Its threads are missing, and calls would wait for them for ever.
bool was_forked();
// What create() looks at before anything else; then there is no handle yet.
std::int32_t begin_create(const char* driver, lathe_handle** handle);
// What prepare() and run() look at before anything else.
std::int32_t check_process(const char* driver, DeviceHandle& handle);
std::int32_t check_run(const char* driver, DeviceHandle& handle, bool has_inputs, bool has_outputs);
// The tensors that run() is given: each by itself, and that outputs overlap nothing.
std::int32_t check_tensors(DeviceHandle& handle, const DLTensor* const* inputs,
                           DLTensor* const* outputs, const Place& place);

// The first line with an error of what a compiler said, else the first that is not empty. Cuts the
// text behind it.
const char* first_line(char* log);

}  // namespace lathe::artifact
