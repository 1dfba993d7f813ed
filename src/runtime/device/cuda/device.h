// The cards of this machine, and one of them opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "runtime/device/cuda/api.h"
#include "runtime/device/cuda/facts.h"
#include "runtime/device/memory.h"

namespace lathe::cuda {

using device::GuardedMemory;
using device::Handle;

// All cards that the driver shows, in its order. kNotFound: there is none. `library` as open_api
// has it.
Result<std::vector<Facts>> list_devices(const std::string& library = "");

// A card with a context of this process and a stream. One thread uses it.
class Device final : public device::Memories {
 public:
  // `wanted` as choose_device() has it.
  static Result<std::unique_ptr<Device>> open(const std::string& wanted = "",
                                              const std::string& library = "");

  const Api& api() const { return *api_; }
  const Facts& facts() const { return facts_; }
  Stream stream() const { return stream_.get(); }

  // Turns a code into an error that says what could not be done. kOutOfMemory or kRun.
  Status expect(Code code, const std::string& what) const;
  // The same of what comes after kernels. That it fails means that a kernel broke more than itself,
  // unless memory is short: nothing of this context works any more, and it counts as lost.
  Status expect_after(Code code, const std::string& what);
  bool lost() const { return lost_; }

  // Seconds by the card's own clock between two events, around what `work` gives to the stream.
  template <class Work>
  Result<double> time(const std::string& what, const Work& work) {
    LATHE_TRY_STATUS(expect_after(api_->EventRecord(begin_.get(), stream()), what));
    LATHE_TRY_STATUS(work());
    return time_since_begin(what);
  }
  // Copies between two places of the card, in the stream's order, without waiting.
  Status copy(const Handle& to, const Handle& from, std::int64_t bytes, const std::string& what);
  // Makes every bit of a place a one, without waiting.
  Status fill_later(const Handle& place, std::int64_t bytes, const std::string& what);

  const std::string& device_name() const override { return facts_.name; }
  std::int64_t most_bytes() const override { return facts_.memory_bytes; }
  Result<Handle> allocate(std::int64_t bytes, const std::string& what) override;
  Result<Handle> part(const Handle& whole, std::int64_t offset, std::int64_t bytes,
                      const std::string& what) override;
  Status write(const Handle& whole, std::int64_t offset, std::span<const std::byte> bytes,
               const std::string& what) override;
  Status read(const Handle& whole, std::int64_t offset, std::span<std::byte> bytes,
              const std::string& what) override;
  Status fill(const Handle& whole, std::int64_t offset, std::int64_t bytes,
              const std::string& what) override;
  Status finish(const std::string& what) override;

 private:
  Device() = default;
  Status make_context(DeviceId id);
  Result<double> time_since_begin(const std::string& what);

  std::shared_ptr<const Api> api_;
  Facts facts_;
  Owned<Context> context_;
  Owned<Stream> stream_;
  Owned<Event> begin_, end_;
  bool lost_ = false;
};

// Where a handle of this device's memory begins.
inline Address address_of(const Handle& place) {
  return static_cast<Address>(reinterpret_cast<std::uintptr_t>(place.get()));
}

}  // namespace lathe::cuda
