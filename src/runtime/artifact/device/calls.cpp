// This file goes into artifacts, which need libc only.
#include "runtime/artifact/device/calls.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

namespace lathe::artifact {
namespace {

thread_local Message last_create;

// The process that first asked for a device here; 0: none has.
std::atomic<pid_t> first_process = 0;

void say_forked(const char* driver, Message& message) {
  message.clear();
  message.add("this process was forked from one that used ").add(driver);
  message.add(", which drivers do not survive; fork before the first create, or start another ");
  message.add("program");
}

}  // namespace

Message& create_message() { return last_create; }

std::int32_t refuse_create(std::int32_t status, const char* why) {
  last_create.clear();
  last_create.add(why);
  return status;
}

bool was_forked() {
  pid_t none = 0;
  const pid_t own = ::getpid();
  return !first_process.compare_exchange_strong(none, own) && none != own;
}

std::int32_t begin_create(const char* driver, lathe_handle** handle) {
  if (handle == nullptr)
    return refuse_create(LATHE_INVALID_ARGUMENT, "there is no place for the handle");
  *handle = nullptr;
  if (!was_forked()) return LATHE_OK;
  say_forked(driver, last_create);
  return LATHE_DEVICE_FAILED;
}

std::int32_t check_process(const char* driver, DeviceHandle& handle) {
  if (!was_forked()) return LATHE_OK;
  say_forked(driver, handle.message);
  return LATHE_DEVICE_FAILED;
}

std::int32_t check_run(const char* driver, DeviceHandle& handle, bool has_inputs,
                       bool has_outputs) {
  if (const std::int32_t status = check_process(driver, handle); status != LATHE_OK) return status;
  if (!handle.prepared)
    return handle.refuse(LATHE_NOT_PREPARED, "prepare was not called, or failed");
  if ((!has_inputs && handle.inputs() > 0) || !has_outputs)
    return handle.refuse(LATHE_INVALID_ARGUMENT, "there are no inputs or no outputs");
  return LATHE_OK;
}

std::int32_t check_tensors(DeviceHandle& handle, const DLTensor* const* inputs,
                           DLTensor* const* outputs, const Place& place) {
  const auto given = [&](std::int64_t i) {
    return i < handle.inputs() ? inputs[i] : outputs[i - handle.inputs()];
  };
  for (std::int64_t i = 0; i < handle.count(); ++i)
    if (!handle.tensor(i).constant &&
        !check_tensor(handle.tensor(i), given(i), handle.message, place))
      return LATHE_INVALID_ARGUMENT;
  for (std::int64_t out = handle.inputs(); out < handle.count(); ++out)
    for (std::int64_t other = 0; other < out; ++other) {
      if (handle.tensor(other).constant) continue;
      const char *a = address_of(*given(out)), *b = address_of(*given(other));
      if (a < b + handle.tensor(other).bytes && b < a + handle.tensor(out).bytes)
        return handle.refuse_overlap(other, out);
    }
  return LATHE_OK;
}

const char* first_line(char* log) {
  char* first = nullptr;
  for (char* at = log; *at != '\0';) {
    char* const line = at;
    while (*at != '\0' && *at != '\n') ++at;
    if (*at == '\n') *at++ = '\0';
    if (std::strstr(line, "error") != nullptr || std::strstr(line, "fatal") != nullptr) return line;
    if (first == nullptr && line[std::strspn(line, " \t\r")] != '\0') first = line;
  }
  return first != nullptr ? first : "it did not say why";
}

}  // namespace lathe::artifact
