#include "runtime/device/memory.h"

#include <algorithm>

namespace lathe::device {
namespace {

// Words of 16 bits from 0xffc0 to 0xfffe: each is a quiet NaN of f16 and bf16, and two or four of
// them are one of f32 and f64.
std::vector<std::byte> make_zone(int number) {
  constexpr int kPatterns = 63;
  std::vector<std::byte> zone(kZone, std::byte{0xff});
  for (std::size_t i = 0; i < zone.size(); i += 2) zone[i] = std::byte(0xc0 + number % kPatterns);
  return zone;
}

}  // namespace

Status GuardedMemory::resize(Memories& device, std::string_view name, std::int64_t bytes) {
  const std::int64_t most = device.most_bytes() - 2 * kZone;
  if (bytes < 0 || bytes > most)
    return fail(ErrorKind::kOutOfMemory,
                "{} bytes of {} are out of range: {} allows {} in one buffer", bytes, name,
                device.device_name(), most);
  device_ = &device;
  name_ = name;
  if (number_ == 0) number_ = device.next_number();
  if (whole_ && part_ && bytes == bytes_) return {};
  if (!whole_ || bytes > capacity_) {
    part_.reset();
    whole_.reset();
    whole_ = LATHE_TRY(
        device.allocate(bytes + 2 * kZone,
                        fmt::format("the device has no memory for {} bytes of {}", bytes, name)));
    capacity_ = bytes;
  }
  part_.reset();
  part_ = LATHE_TRY(device.part(whole_, kZone, std::max<std::int64_t>(bytes, 1),
                                fmt::format("the device cannot divide the memory of {}", name)));
  bytes_ = bytes;
  return {};
}

Status GuardedMemory::write_part(std::int64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  return device_->write(whole_, offset, bytes, "the device does not take " + name_);
}

Status GuardedMemory::read_part(std::int64_t offset, std::span<std::byte> bytes) const {
  if (bytes.empty()) return {};
  return device_->read(whole_, offset, bytes, "the device does not give back " + name_);
}

Status GuardedMemory::fill() {
  const auto zone = make_zone(number_);
  LATHE_TRY_STATUS(write_part(0, zone));
  LATHE_TRY_STATUS(write_part(kZone + bytes_, zone));
  if (bytes_ == 0) return {};
  return device_->fill(whole_, kZone, bytes_, "the device cannot fill " + name_);
}

Status GuardedMemory::write(const void* from) {
  return write_part(kZone, {static_cast<const std::byte*>(from), static_cast<std::size_t>(bytes_)});
}

Status GuardedMemory::read(void* to) const {
  return read_part(kZone, {static_cast<std::byte*>(to), static_cast<std::size_t>(bytes_)});
}

Status GuardedMemory::check_zones() const {
  const auto zone = make_zone(number_);
  std::vector<std::byte> got(zone.size());
  LATHE_TRY_STATUS(read_part(0, got));
  if (got != zone)
    return fail(ErrorKind::kRun,
                "the candidate wrote out of bounds: it wrote before the start of {}", name_);
  LATHE_TRY_STATUS(read_part(kZone + bytes_, got));
  if (got != zone)
    return fail(ErrorKind::kRun, "the candidate wrote out of bounds: it wrote after the end of {}",
                name_);
  return {};
}

}  // namespace lathe::device
