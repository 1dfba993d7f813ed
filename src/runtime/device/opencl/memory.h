// Memory of a device for one tensor or area, between zones that nothing may touch.
//
// A driver has no pages without access to offer, so a write out of bounds is noticed afterwards:
// the zones hold a pattern that reads as NaN in every float type. Arithmetic keeps the bits of a
// NaN that it was given, so every memory has a pattern of its own: what was read in another's zone
// and written here is noticed, too. What a kernel has not written itself reads as NaN by other
// bits. A write beyond the zones is not noticed here; it may crash the process, or the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/device/opencl/device.h"

namespace lathe::opencl {

inline constexpr std::int64_t kZone = 64 << 10;  // bytes before and behind; more than an alignment

class GuardedMemory {
 public:
  // Gives it `bytes` bytes, which begin at a multiple of the device's alignment; the content is
  // undefined. It keeps what it has if that is enough. kOutOfMemory: the device has no more.
  Status resize(Device& device, std::string_view name, std::int64_t bytes);
  // What a kernel gets. It changes with every resize().
  const Owned<Buffer>& part() const { return part_; }
  std::int64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

  Status fill();  // with NaN, and the zones with their pattern
  // Both wait until it is done. As many bytes as resize() gave.
  Status write(const void* from);
  Status read(void* to) const;
  // Fails with kRun if a zone no longer holds its pattern, which it has had since fill().
  Status check_zones() const;

 private:
  Status write_part(std::int64_t offset, std::span<const std::byte> bytes);
  Status read_part(std::int64_t offset, std::span<std::byte> bytes) const;

  Device* device_ = nullptr;
  std::string name_;
  Owned<Buffer> whole_, part_;  // zone, capacity, zone; and what lies between the zones
  std::int64_t capacity_ = 0, bytes_ = 0;
  int number_ = 0;  // the device's, of the pattern
};

}  // namespace lathe::opencl
