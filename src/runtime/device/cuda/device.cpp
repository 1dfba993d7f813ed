#include "runtime/device/cuda/device.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "runtime/device/cuda/devices.h"

namespace lathe::cuda {
namespace {

// What the driver's part in the kernel calls its version; empty where it does not tell.
std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::string uuid_text(const Uuid& uuid, bool slice) {
  std::string text = slice ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

// Reads what a card says of itself; what it does not tell is zero or empty.
struct CardReader {
  const Api& api;
  DeviceId id;

  int number(int attribute) const {
    int value = 0;
    return api.DeviceGetAttribute(&value, attribute, id) == 0 ? std::max(value, 0) : 0;
  }
  std::string name() const {
    std::array<char, 256> name{};
    if (api.DeviceGetName(name.data(), static_cast<int>(name.size()) - 1, id) != 0) return {};
    return name.data();
  }
  std::string uuid(bool slice) const {
    Uuid uuid{};
    return api.DeviceGetUuid(&uuid, id) == 0 ? uuid_text(uuid, slice) : "";
  }
  std::int64_t memory() const {
    std::size_t bytes = 0;
    return api.DeviceTotalMem(&bytes, id) == 0 ? static_cast<std::int64_t>(bytes) : 0;
  }
};

Facts facts_of(const Api& api, DeviceId id) {
  const CardReader reader{api, id};
  Facts f;
  f.name = reader.name();
  f.uuid = reader.uuid(f.name.contains(" MIG "));
  api.DriverGetVersion(&f.cuda);
  f.driver = driver_version();
  if (f.driver.empty()) f.driver = fmt::format("CUDA {}.{}", f.cuda / 1000, f.cuda % 1000 / 10);
  f.architecture = 10 * reader.number(kCapabilityMajor) + reader.number(kCapabilityMinor);
  f.multiprocessors = reader.number(kMultiprocessors);
  f.registers = reader.number(kRegistersOfMultiprocessor);
  f.shared_bytes = reader.number(kSharedOfMultiprocessor);
  f.threads = reader.number(kThreadsOfMultiprocessor);
  f.blocks = reader.number(kBlocksOfMultiprocessor);
  f.block_bytes = reader.number(kSharedOfBlockOptIn);
  f.reserved_bytes = reader.number(kReservedOfBlock);
  f.block_threads = reader.number(kThreadsOfBlock);
  f.thread_registers = 255;
  f.l2_bytes = reader.number(kL2Bytes);
  f.memory_bytes = reader.memory();
  f.clock_khz = reader.number(kClockRate);
  f.memory_clock_khz = reader.number(kMemoryClockRate);
  f.bus_bits = reader.number(kBusWidth);
  return f;
}

struct Cards {
  std::vector<DeviceId> ids;
  std::vector<Facts> facts;
};

Result<Cards> find_cards(const Api& api) {
  int count = 0;
  const Code code = api.DeviceGetCount(&count);
  if (code != 0 || count == 0)
    return fail(ErrorKind::kNotFound,
                "NVIDIA's driver finds no card ({}); look at CUDA_VISIBLE_DEVICES and at what "
                "nvidia-smi lists",
                code == 0 ? "it counts none" : name_of(api, code));
  Cards cards;
  for (int i = 0; i < count; ++i) {
    DeviceId id = 0;
    if (const Code got = api.DeviceGet(&id, i); got != 0)
      return fail(ErrorKind::kNotFound, "NVIDIA's driver does not give card {} ({})", i,
                  name_of(api, got));
    cards.ids.push_back(id);
    cards.facts.push_back(facts_of(api, id));
  }
  return cards;
}

}  // namespace

Result<std::vector<Facts>> list_devices(const std::string& library) {
  const auto api = LATHE_TRY(open_api(library));
  return LATHE_TRY(find_cards(*api)).facts;
}

Result<std::unique_ptr<Device>> Device::open(const std::string& wanted,
                                             const std::string& library) {
  std::unique_ptr<Device> device(new Device);
  device->api_ = LATHE_TRY(open_api(library));
  Cards cards = LATHE_TRY(find_cards(*device->api_));
  const std::size_t chosen = LATHE_TRY(choose_device(cards.facts, wanted));
  device->facts_ = std::move(cards.facts[chosen]);
  LATHE_TRY_STATUS(device->make_context(cards.ids[chosen]));
  return device;
}

// The context spins while it waits: who is timed is not woken late, and a kernel that never ends
// is seen to use its process's time.
Status Device::make_context(DeviceId id) {
  const std::string card = "the card " + facts_.name;
  Context context = nullptr;
  LATHE_TRY_STATUS(
      expect(api_->CtxCreate(&context, kContextSpins, id), card + " cannot be opened"));
  context_ = {context, [destroy = api_->CtxDestroy](Context c) { destroy(c); }};
  Stream stream = nullptr;
  LATHE_TRY_STATUS(
      expect(api_->StreamCreate(&stream, kStreamNonBlocking), card + " gives no stream"));
  stream_ = {stream, [destroy = api_->StreamDestroy](Stream s) { destroy(s); }};
  for (Owned<Event>* owned : {&begin_, &end_}) {
    Event event = nullptr;
    LATHE_TRY_STATUS(
        expect(api_->EventCreate(&event, kEventDefault), card + " gives no events with times"));
    *owned = {event, [destroy = api_->EventDestroy](Event e) { destroy(e); }};
  }
  return {};
}

Status Device::expect(Code code, const std::string& what) const {
  if (code == 0) return {};
  const auto kind = code == kOutOfMemory ? ErrorKind::kOutOfMemory : ErrorKind::kRun;
  return fail(kind, "{} ({})", what, name_of(*api_, code));
}

Status Device::expect_after(Code code, const std::string& what) {
  const Status status = expect(code, what);
  if (!status && status.error().kind != ErrorKind::kOutOfMemory) lost_ = true;
  return status;
}

Status Device::finish(const std::string& what) {
  return expect_after(api_->StreamSynchronize(stream()), what);
}

Result<double> Device::time_since_begin(const std::string& what) {
  LATHE_TRY_STATUS(expect_after(api_->EventRecord(end_.get(), stream()), what));
  LATHE_TRY_STATUS(expect_after(api_->EventSynchronize(end_.get()), what));
  float milliseconds = 0;
  LATHE_TRY_STATUS(
      expect_after(api_->EventElapsedTime(&milliseconds, begin_.get(), end_.get()), what));
  return 1e-3 * static_cast<double>(milliseconds);
}

Result<Handle> Device::allocate(std::int64_t bytes, const std::string& what) {
  Address address = 0;
  const Code code = api_->MemAlloc(&address, static_cast<std::size_t>(bytes));
  if (code == kOutOfMemory) {
    std::size_t free = 0, total = 0;
    api_->MemGetInfo(&free, &total);
    return fail(ErrorKind::kOutOfMemory, "{}: {} of its {} bytes are free ({})", what, free, total,
                name_of(*api_, code));
  }
  LATHE_TRY_STATUS(expect_after(code, what));
  // The context has to live as long as its memory.
  return Handle(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)),
                [release = api_->MemFree, context = context_](void* memory) {
                  release(static_cast<Address>(reinterpret_cast<std::uintptr_t>(memory)));
                });
}

Result<Handle> Device::part(const Handle& whole, std::int64_t offset, std::int64_t,
                            const std::string&) {
  return Handle(whole, static_cast<std::byte*>(whole.get()) + offset);
}

Status Device::write(const Handle& whole, std::int64_t offset, std::span<const std::byte> bytes,
                     const std::string& what) {
  LATHE_TRY_STATUS(
      expect_after(api_->MemcpyHtoDAsync(address_of(whole) + static_cast<Address>(offset),
                                         bytes.data(), bytes.size(), stream()),
                   what));
  return finish(what);
}

Status Device::read(const Handle& whole, std::int64_t offset, std::span<std::byte> bytes,
                    const std::string& what) {
  LATHE_TRY_STATUS(expect_after(
      api_->MemcpyDtoHAsync(bytes.data(), address_of(whole) + static_cast<Address>(offset),
                            bytes.size(), stream()),
      what));
  return finish(what);
}

Status Device::fill(const Handle& whole, std::int64_t offset, std::int64_t bytes,
                    const std::string& what) {
  LATHE_TRY_STATUS(fill_later(LATHE_TRY(part(whole, offset, bytes, what)), bytes, what));
  return finish(what);
}

Status Device::fill_later(const Handle& place, std::int64_t bytes, const std::string& what) {
  constexpr unsigned char kOnes = 0xff;
  return expect_after(
      api_->MemsetD8Async(address_of(place), kOnes, static_cast<std::size_t>(bytes), stream()),
      what);
}

Status Device::copy(const Handle& to, const Handle& from, std::int64_t bytes,
                    const std::string& what) {
  return expect_after(api_->MemcpyDtoDAsync(address_of(to), address_of(from),
                                            static_cast<std::size_t>(bytes), stream()),
                      what);
}

}  // namespace lathe::cuda
