#include "runtime/device/opencl/memory.h"

#include <algorithm>
#include <cstring>

namespace lathe::opencl {
namespace {

// Words of 16 bits from 0xffc0 to 0xfffe: each is a quiet NaN of f16 and bf16, and two or four of
// them are one of f32 and f64.
std::vector<std::byte> make_zone(int number) {
  constexpr int kPatterns = 63;
  std::vector<std::byte> zone(kZone, std::byte{0xff});
  for (std::size_t i = 0; i < zone.size(); i += 2) zone[i] = std::byte(0xc0 + number % kPatterns);
  return zone;
}

Owned<Buffer> own_buffer(const Api& api, Buffer buffer) {
  return {buffer, [release = api.ReleaseMemObject](Buffer b) {
            if (b != nullptr) release(b);
          }};
}

}  // namespace

Status GuardedMemory::resize(Device& device, std::string_view name, std::int64_t bytes) {
  if (bytes < 0 || bytes > device.facts().allocation_bytes - 2 * kZone)
    return fail(ErrorKind::kOutOfMemory,
                "{} bytes of {} are out of range: {} allows {} in one buffer", bytes, name,
                device.facts().name, device.facts().allocation_bytes - 2 * kZone);
  const Api& api = device.api();
  device_ = &device;
  name_ = name;
  if (number_ == 0) number_ = device.next_number();
  if (whole_ && part_ && bytes == bytes_) return {};
  Code code = 0;
  if (!whole_ || bytes > capacity_) {
    part_.reset();
    whole_.reset();
    whole_ = own_buffer(
        api, api.CreateBuffer(device.context(), kReadWrite,
                              static_cast<std::size_t>(bytes + 2 * kZone), nullptr, &code));
    if (code != 0) whole_.reset();
    LATHE_TRY_STATUS(device.expect(
        code, fmt::format("the device has no memory for {} bytes of {}", bytes, name)));
    capacity_ = bytes;
  }
  const SubRegion region{kZone, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))};
  part_ =
      own_buffer(api, api.CreateSubBuffer(whole_.get(), kReadWrite, kSubRegion, &region, &code));
  if (code != 0) part_.reset();
  bytes_ = bytes;
  return device.expect(code, fmt::format("the device cannot divide the memory of {}", name));
}

Status GuardedMemory::write_part(std::int64_t offset, std::span<const std::byte> bytes) {
  constexpr Number kWait = 1;
  if (bytes.empty()) return {};
  const Code code = device_->api().EnqueueWriteBuffer(
      device_->queue(), whole_.get(), kWait, static_cast<std::size_t>(offset), bytes.size(),
      bytes.data(), 0, nullptr, nullptr);
  return device_->expect_after(code, "the device does not take " + name_);
}

Status GuardedMemory::read_part(std::int64_t offset, std::span<std::byte> bytes) const {
  constexpr Number kWait = 1;
  if (bytes.empty()) return {};
  const Code code = device_->api().EnqueueReadBuffer(device_->queue(), whole_.get(), kWait,
                                                     static_cast<std::size_t>(offset), bytes.size(),
                                                     bytes.data(), 0, nullptr, nullptr);
  return device_->expect_after(code, "the device does not give back " + name_);
}

Status GuardedMemory::fill() {
  const auto zone = make_zone(number_);
  LATHE_TRY_STATUS(write_part(0, zone));
  LATHE_TRY_STATUS(write_part(kZone + bytes_, zone));
  if (bytes_ == 0) return {};
  constexpr std::uint32_t kNan = 0xffffffff;
  const std::size_t step = bytes_ % 4 == 0 ? 4 : 1;
  LATHE_TRY_STATUS(device_->expect(
      device_->api().EnqueueFillBuffer(device_->queue(), whole_.get(), &kNan, step, kZone,
                                       static_cast<std::size_t>(bytes_), 0, nullptr, nullptr),
      "the device cannot fill " + name_));
  return device_->finish("the device cannot fill " + name_);
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

}  // namespace lathe::opencl
