// The devices of OpenCL on this machine, and one of them opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/device/memory.h"
#include "runtime/device/opencl/api.h"
#include "runtime/device/opencl/facts.h"

namespace lathe::opencl {

using device::GuardedMemory;
using device::Handle;

// All devices in the order of their platforms. kNotFound, with what to install: there is no
// platform, or none has a device. `library` as open_api has it.
Result<std::vector<Facts>> list_devices(const std::string& library = "");

// Which of these is used where none is named: a GPU before an accelerator before a processor, and
// the first of its kind. `wanted` is a part of the name of its platform, vendor or device, or
// empty: then $LATHE_OPENCL_DEVICE, if it is set, is such a part. kNotFound names those that are
// there.
Result<std::size_t> choose_device(const std::vector<Facts>& devices,
                                  const std::string& wanted = "");

// A device with a context and a queue that works in order and tells times. One thread uses it.
class Device final : public device::Memories {
 public:
  static Result<std::unique_ptr<Device>> open(const std::string& wanted = "",
                                              const std::string& library = "");

  const Api& api() const { return *api_; }
  const Facts& facts() const { return facts_; }
  DeviceId id() const { return id_; }
  Context context() const { return context_.get(); }
  Queue queue() const { return queue_.get(); }

  // Turns a code into an error that says what could not be done. kOutOfMemory or kRun.
  Status expect(Code code, const std::string& what) const;
  // The same of what comes after kernels. That it fails means that a kernel broke more than itself,
  // unless memory is short: the device counts as lost.
  Status expect_after(Code code, const std::string& what);
  // Waits for all that was given to the queue, as expect_after().
  Status finish(const std::string& what) override;
  // The device no longer works for this process.
  bool lost() const { return lost_; }
  void set_lost() { lost_ = true; }

  const std::string& device_name() const override { return facts_.name; }
  std::int64_t most_bytes() const override { return facts_.allocation_bytes; }
  Result<Handle> allocate(std::int64_t bytes, const std::string& what) override;
  Result<Handle> part(const Handle& whole, std::int64_t offset, std::int64_t bytes,
                      const std::string& what) override;
  Status write(const Handle& whole, std::int64_t offset, std::span<const std::byte> bytes,
               const std::string& what) override;
  Status read(const Handle& whole, std::int64_t offset, std::span<std::byte> bytes,
              const std::string& what) override;
  Status fill(const Handle& whole, std::int64_t offset, std::int64_t bytes,
              const std::string& what) override;

 private:
  Device() = default;
  Result<Handle> own_buffer(Buffer buffer, Code code, const std::string& what) const;

  std::shared_ptr<const Api> api_;
  Facts facts_;
  DeviceId id_ = nullptr;
  Owned<Context> context_;
  Owned<Queue> queue_;
  bool lost_ = false;
};

}  // namespace lathe::opencl
