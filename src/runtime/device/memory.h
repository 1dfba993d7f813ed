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
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lathe::device {

// A handle of the driver's; the last owner releases what it stands for.
using Handle = std::shared_ptr<void>;

// What a kind of device does with memory. `what` begins the sentence of an error. All wait until
// they are done.
class Memories {
 public:
  virtual ~Memories() = default;
  virtual const std::string& device_name() const = 0;
  virtual std::int64_t most_bytes() const = 0;  // of one allocation
  virtual Result<Handle> allocate(std::int64_t bytes, const std::string& what) = 0;
  // What a kernel gets to reach some bytes of an allocation, at least one; it keeps that alive.
  virtual Result<Handle> part(const Handle& whole, std::int64_t offset, std::int64_t bytes,
                              const std::string& what) = 0;
  virtual Status write(const Handle& whole, std::int64_t offset, std::span<const std::byte> bytes,
                       const std::string& what) = 0;
  virtual Status read(const Handle& whole, std::int64_t offset, std::span<std::byte> bytes,
                      const std::string& what) = 0;
  // Makes every bit a one.
  virtual Status fill(const Handle& whole, std::int64_t offset, std::int64_t bytes,
                      const std::string& what) = 0;
  // Waits for all that was given to the device.
  virtual Status finish(const std::string& what) = 0;
  // Numbers from 1, each once: what tells memories apart.
  int next_number() { return ++number_; }

 private:
  int number_ = 0;
};

inline constexpr std::int64_t kZone = 64 << 10;  // bytes before and behind; more than an alignment

class GuardedMemory {
 public:
  // Gives it `bytes` bytes, which begin at a multiple of the device's alignment; the content is
  // undefined. It keeps what it has if that is enough. kOutOfMemory: the device has no more.
  Status resize(Memories& device, std::string_view name, std::int64_t bytes);
  // What a kernel gets. It changes with every resize().
  const Handle& part() const { return part_; }
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

  Memories* device_ = nullptr;
  std::string name_;
  Handle whole_, part_;  // zone, capacity, zone; and what lies between the zones
  std::int64_t capacity_ = 0, bytes_ = 0;
  int number_ = 0;  // the device's, of the pattern
};

}  // namespace lathe::device
