#include "runtime/device/opencl/device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/environment.h"
#include "base/split.h"

namespace lathe::opencl {
namespace {

constexpr const char* kInstallDriver =
    "install the device's driver, or pocl-opencl-icd to run OpenCL programs on the processor";

// Reads what a device says of itself; what it does not tell is zero or empty.
struct Reader {
  const Api& api;
  DeviceId device;

  template <class T>
  T value(Number what) const {
    T value{};
    if (api.GetDeviceInfo(device, what, sizeof value, &value, nullptr) != 0) return T{};
    return value;
  }
  std::int64_t size(Number what) const {
    return static_cast<std::int64_t>(value<std::size_t>(what));
  }
  std::int64_t bytes(Number what) const {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(
        value<std::uint64_t>(what), std::numeric_limits<std::int64_t>::max()));
  }
  int number(Number what) const {
    return static_cast<int>(std::min<Number>(value<Number>(what), 1U << 30));
  }
  std::string text(Number what) const {
    std::size_t size = 0;
    if (api.GetDeviceInfo(device, what, 0, nullptr, &size) != 0) return {};
    std::string text(size, '\0');
    if (api.GetDeviceInfo(device, what, size, text.data(), nullptr) != 0) return {};
    return std::string(text.c_str());
  }
};

std::string kind_of(Bitfield type) {
  if ((type & kTypeGpu) != 0) return "gpu";
  if ((type & kTypeAccelerator) != 0) return "accelerator";
  return (type & kTypeCpu) != 0 ? "cpu" : "other";
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = split(text, ' ');
  std::erase(words, "");
  std::ranges::sort(words);
  return words;
}

Facts facts_of(const Api& api, const std::string& platform, DeviceId device) {
  const Reader reader{api, device};
  Facts f;
  f.platform = platform;
  f.name = reader.text(kDeviceName);
  f.vendor = reader.text(kDeviceVendor);
  f.driver = reader.text(kDriverVersion);
  f.version = reader.text(kDeviceVersion);
  f.kind = kind_of(reader.value<Bitfield>(kDeviceType));
  f.compute_units = reader.number(kComputeUnits);
  f.group_size = reader.size(kMaxGroupSize);
  for (const std::size_t size : reader.value<std::array<std::size_t, 3>>(kItemSizes))
    f.item_sizes.push_back(static_cast<std::int64_t>(size));
  f.global_bytes = reader.bytes(kGlobalBytes);
  f.local_bytes = reader.bytes(kLocalBytes);
  f.cache_bytes = reader.bytes(kCacheBytes);
  f.local_is_real = reader.value<Number>(kLocalType) == kLocalIsReal;
  f.allocation_bytes = reader.bytes(kMaxAllocation);
  f.alignment = std::max(1, reader.number(kBaseAlignment) / 8);
  f.vector_floats = reader.number(kPreferredFloats);
  f.timer_nanoseconds = static_cast<int>(reader.size(kTimerResolution));
  f.images = reader.value<Number>(kImageSupport) != 0;
  f.extensions = words_of(reader.text(kExtensions));
  f.fp16 = f.has("cl_khr_fp16");
  f.fp64 = f.has("cl_khr_fp64");
  return f;
}

struct Found {
  Facts facts;
  DeviceId id;
};

std::string name_of_platform(const Api& api, Platform platform) {
  std::array<char, 256> name{};
  if (api.GetPlatformInfo(platform, kPlatformName, name.size() - 1, name.data(), nullptr) != 0)
    return "a platform without a name";
  return name.data();
}

Result<std::vector<Found>> find_devices(const Api& api) {
  Number count = 0;
  if (api.GetPlatformIDs(0, nullptr, &count) != 0 || count == 0)
    return fail(ErrorKind::kNotFound, "OpenCL has no platform on this machine; {}", kInstallDriver);
  std::vector<Platform> platforms(count);
  api.GetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<Found> found;
  for (Platform platform : platforms) {
    Number devices = 0;
    if (api.GetDeviceIDs(platform, kTypeAll, 0, nullptr, &devices) != 0 || devices == 0) continue;
    std::vector<DeviceId> ids(devices);
    api.GetDeviceIDs(platform, kTypeAll, devices, ids.data(), nullptr);
    for (DeviceId id : ids) {
      const Reader reader{api, id};
      if (reader.value<Number>(kAvailable) == 0 || reader.value<Number>(kCompilerThere) == 0)
        continue;
      found.push_back({facts_of(api, name_of_platform(api, platform), id), id});
    }
  }
  if (found.empty())
    return fail(ErrorKind::kNotFound,
                "OpenCL has no device with a compiler on this machine, only the platform {}; {}",
                name_of_platform(api, platforms[0]), kInstallDriver);
  return found;
}

int rank_of(const Facts& facts) {
  constexpr std::array kOrder = {"gpu", "accelerator", "cpu"};
  return static_cast<int>(std::ranges::find(kOrder, facts.kind) - kOrder.begin());
}

// Whatever letters are capital.
bool has_part(const std::string& text, const std::string& part) {
  return ::strcasestr(text.c_str(), part.c_str()) != nullptr;
}

std::vector<Facts> facts_of(const std::vector<Found>& devices) {
  std::vector<Facts> facts;
  for (const Found& device : devices) facts.push_back(device.facts);
  return facts;
}

}  // namespace

Result<std::vector<Facts>> list_devices(const std::string& library) {
  const auto api = LATHE_TRY(open_api(library));
  return facts_of(LATHE_TRY(find_devices(*api)));
}

Result<std::size_t> choose_device(const std::vector<Facts>& devices, const std::string& wanted) {
  const std::string part = wanted.empty() ? environment("LATHE_OPENCL_DEVICE") : wanted;
  std::size_t best = devices.size();
  std::string names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Facts& f = devices[i];
    names += (names.empty() ? "" : ", ") + fmt::format("{} ({})", f.name, f.platform);
    if (!has_part(f.name, part) && !has_part(f.platform, part) && !has_part(f.vendor, part))
      continue;
    if (best == devices.size() || rank_of(f) < rank_of(devices[best])) best = i;
  }
  if (best < devices.size()) return best;
  return fail(ErrorKind::kNotFound, "no device of OpenCL is called {}; there are {}", part, names);
}

Result<std::unique_ptr<Device>> Device::open(const std::string& wanted,
                                             const std::string& library) {
  std::unique_ptr<Device> device(new Device);
  device->api_ = LATHE_TRY(open_api(library));
  const Api& api = *device->api_;
  const auto devices = LATHE_TRY(find_devices(api));
  const Found& found = devices[LATHE_TRY(choose_device(facts_of(devices), wanted))];
  device->facts_ = found.facts;
  device->id_ = found.id;
  Code code = 0;
  device->context_ = {api.CreateContext(nullptr, 1, &found.id, nullptr, nullptr, &code),
                      [release = api.ReleaseContext](Context c) {
                        if (c != nullptr) release(c);
                      }};
  LATHE_TRY_STATUS(device->expect(code, "the device " + found.facts.name + " cannot be opened"));
  device->queue_ = {api.CreateCommandQueue(device->context(), found.id, kQueueProfiles, &code),
                    [release = api.ReleaseCommandQueue](Queue q) {
                      if (q != nullptr) release(q);
                    }};
  LATHE_TRY_STATUS(device->expect(code, "the device " + found.facts.name +
                                            " has no queue with "
                                            "times"));
  return device;
}

Status Device::expect(Code code, const std::string& what) const {
  if (code == 0) return {};
  const bool memory = code == kOutOfHostMemory || code == kMemoryAllocationFailed;
  return fail(memory ? ErrorKind::kOutOfMemory : ErrorKind::kRun, "{} ({})", what, name_of(code));
}

Status Device::expect_after(Code code, const std::string& what) {
  const Status status = expect(code, what);
  if (!status && status.error().kind != ErrorKind::kOutOfMemory) set_lost();
  return status;
}

Status Device::finish(const std::string& what) { return expect_after(api_->Finish(queue()), what); }

Result<Handle> Device::own_buffer(Buffer buffer, Code code, const std::string& what) const {
  LATHE_TRY_STATUS(expect(code, what));
  return Handle(buffer, [release = api_->ReleaseMemObject](void* b) {
    if (b != nullptr) release(static_cast<Buffer>(b));
  });
}

Result<Handle> Device::allocate(std::int64_t bytes, const std::string& what) {
  Code code = 0;
  Buffer buffer =
      api_->CreateBuffer(context(), kReadWrite, static_cast<std::size_t>(bytes), nullptr, &code);
  return own_buffer(buffer, code, what);
}

Result<Handle> Device::part(const Handle& whole, std::int64_t offset, std::int64_t bytes,
                            const std::string& what) {
  Code code = 0;
  const SubRegion region{static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes)};
  Buffer buffer = api_->CreateSubBuffer(static_cast<Buffer>(whole.get()), kReadWrite, kSubRegion,
                                        &region, &code);
  return own_buffer(buffer, code, what);
}

Status Device::write(const Handle& whole, std::int64_t offset, std::span<const std::byte> bytes,
                     const std::string& what) {
  constexpr Number kWait = 1;
  const Code code = api_->EnqueueWriteBuffer(queue(), static_cast<Buffer>(whole.get()), kWait,
                                             static_cast<std::size_t>(offset), bytes.size(),
                                             bytes.data(), 0, nullptr, nullptr);
  return expect_after(code, what);
}

Status Device::read(const Handle& whole, std::int64_t offset, std::span<std::byte> bytes,
                    const std::string& what) {
  constexpr Number kWait = 1;
  const Code code = api_->EnqueueReadBuffer(queue(), static_cast<Buffer>(whole.get()), kWait,
                                            static_cast<std::size_t>(offset), bytes.size(),
                                            bytes.data(), 0, nullptr, nullptr);
  return expect_after(code, what);
}

Status Device::fill(const Handle& whole, std::int64_t offset, std::int64_t bytes,
                    const std::string& what) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  const std::size_t step = bytes % 4 == 0 ? 4 : 1;
  LATHE_TRY_STATUS(
      expect(api_->EnqueueFillBuffer(queue(), static_cast<Buffer>(whole.get()), &kOnes, step,
                                     static_cast<std::size_t>(offset),
                                     static_cast<std::size_t>(bytes), 0, nullptr, nullptr),
             what));
  return finish(what);
}

}  // namespace lathe::opencl
