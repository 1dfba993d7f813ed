#include "runtime/device/cuda/candidate.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/runner/clock.h"

namespace lathe::cuda {
namespace {

constexpr int kChain = 20, kLongChain = 50;  // calls
constexpr double kChainSeconds = 0.005;      // a chain of long calls is this long, about
constexpr std::int64_t kAlignment = 256;     // bytes, of an area of a set
constexpr int kTimesCache = 3;

std::int64_t aligned(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<Address> places_of(const std::vector<BoundLaunch>& launches) {
  std::vector<Address> places;
  for (const BoundLaunch& launch : launches)
    places.insert(places.end(), launch.places.begin(), launch.places.end());
  return places;
}

}  // namespace

Result<std::unique_ptr<DeviceCandidate>> DeviceCandidate::open(Shared& shared, const Image& image,
                                                               device::Surroundings around) {
  std::unique_ptr<DeviceCandidate> candidate(
      new DeviceCandidate(shared, std::move(around), device::demands_of(image)));
  LATHE_TRY_STATUS(candidate->check_sizes());
  candidate->program_ = LATHE_TRY(Program::build(shared.device, image, shared.cache));
  for (const Resources& r : candidate->program_->resources())
    log(LogLevel::kDebug, "{}: {} registers, {} bytes spilled, {} bytes of shared memory", r.kernel,
        r.registers, r.spilled_bytes, r.shared_bytes);
  LATHE_TRY_STATUS(candidate->place());
  return candidate;
}

DeviceCandidate::~DeviceCandidate() {
  if (shared_.owner == this) shared_.owner = nullptr;
}

Result<double> DeviceCandidate::run_prepare() {
  const auto launches = program_->bind_prepare([&](const Argument& a) { return part_of(a); });
  const double start = runner::now_seconds();
  LATHE_TRY_STATUS(launch_all(shared_.device, launches));
  LATHE_TRY_STATUS(shared_.device.finish("the card did not finish preparing the candidate"));
  return runner::now_seconds() - start;
}

Status DeviceCandidate::bind(bool checked) {
  checked_ = checked;
  launches_ = program_->bind_run([&](const Argument& a) { return part_of(a); });
  std::vector<Address> places = places_of(launches_);
  if (places != places_) {
    warm_chain_.reset();
    cold_chain_.reset();
  }
  places_ = std::move(places);
  return {};
}

// One call by itself, as a caller makes it.
Result<double> DeviceCandidate::single() {
  return shared_.device.time("the card did not finish the candidate",
                             [&] { return launch_all(shared_.device, launches_); });
}

int DeviceCandidate::chain_length(int calls) const {
  const int wanted = calls > 1 ? kLongChain : kChain;
  if (seconds_ <= 0) return wanted;
  return static_cast<int>(std::clamp(kChainSeconds / seconds_, 1.0, static_cast<double>(wanted)));
}

Result<double> DeviceCandidate::warm_chain(int calls) {
  const int length = chain_length(calls);
  if (!warm_chain_ || warm_chain_->calls() < length) {
    warm_chain_ = LATHE_TRY(Chain::make(shared_.device, std::span(&launches_, 1), length));
    LATHE_TRY(warm_chain_->run());  // brings it to the card
  }
  return warm_chain_->run();
}

std::int64_t DeviceCandidate::set_bytes() const {
  std::int64_t bytes = aligned(demands().constant_bytes) + aligned(demands().scratch_bytes);
  for (const std::int64_t tensor : demands().inputs) bytes += aligned(tensor);
  for (const std::int64_t tensor : demands().outputs) bytes += aligned(tensor);
  return bytes;
}

// Where an area lies in the copy `number` of all areas.
Result<std::vector<BoundLaunch>> DeviceCandidate::bind_to_set(std::int64_t number) {
  const std::int64_t start = number * set_bytes();
  const auto offset_of = [&](const Argument& a) {
    std::int64_t at = start;
    const auto position = static_cast<std::size_t>(a.position);
    const std::size_t inputs = a.area == Area::kInput ? position : demands().inputs.size();
    for (std::size_t i = 0; i < inputs; ++i) at += aligned(demands().inputs[i]);
    if (a.area == Area::kInput) return at;
    const std::size_t outputs = a.area == Area::kOutput ? position : demands().outputs.size();
    for (std::size_t o = 0; o < outputs; ++o) at += aligned(demands().outputs[o]);
    return a.area == Area::kScratch ? at + aligned(demands().constant_bytes) : at;
  };
  Status copied;
  auto launches = program_->bind_run([&](const Argument& a) {
    const Handle place(shared_.sets.part(),
                       static_cast<std::byte*>(shared_.sets.part().get()) + offset_of(a));
    const bool read = a.area == Area::kInput || a.area == Area::kConstant;
    if (copied && read)
      copied = shared_.device.copy(place, part_of(a), memory_of(a).bytes(),
                                   "the card does not copy the tensors");
    return place;
  });
  LATHE_TRY_STATUS(copied);
  return launches;
}

Status DeviceCandidate::make_sets(int count) {
  std::vector<std::vector<BoundLaunch>> sets;
  LATHE_TRY_STATUS(
      shared_.sets.resize(shared_.device, "copies of the tensors", count * set_bytes()));
  shared_.owner = this;
  for (int i = 0; i < count; ++i) sets.push_back(LATHE_TRY(bind_to_set(i)));
  LATHE_TRY_STATUS(shared_.device.finish("the card does not copy the tensors"));
  const int length = std::max(count, chain_length(1));
  cold_chain_ = LATHE_TRY(Chain::make(shared_.device, sets, length));
  LATHE_TRY(cold_chain_->run());
  return {};
}

// Writes as much as the cache holds several times.
Status DeviceCandidate::flush() {
  constexpr std::int64_t kLeast = 16 << 20;  // bytes
  GuardedMemory& memory = shared_.flushed;
  const std::int64_t bytes = std::max(kTimesCache * shared_.device.facts().l2_bytes, kLeast);
  if (memory.bytes() != bytes) LATHE_TRY_STATUS(memory.resize(shared_.device, "the cache", bytes));
  return shared_.device.fill_later(memory.part(), bytes, "the card does not empty its cache");
}

Result<double> DeviceCandidate::cold_chain() {
  if (!cold_chain_ || shared_.owner != this) {
    const std::int64_t large = kTimesCache * shared_.device.facts().l2_bytes / set_bytes() + 1;
    const int length = chain_length(1);
    LATHE_TRY_STATUS(
        make_sets(static_cast<int>(std::clamp<std::int64_t>(large, 2, std::max(2, length)))));
  }
  LATHE_TRY_STATUS(flush());
  return cold_chain_->run();
}

Result<runner::Sample> DeviceCandidate::call(int calls, CacheMode cache) {
  const bool cold = cache == CacheMode::kCold;
  const double start = runner::now_seconds();
  // What a checked call leaves is read; and a lone caller waits for the host, too.
  if (checked_ || calls == 1) seconds_ = LATHE_TRY(single());
  double wall = runner::now_seconds() - start;
  if (!checked_ || calls > 1 || cold)
    seconds_ = cold ? LATHE_TRY(cold_chain()) : LATHE_TRY(warm_chain(calls));
  if (checked_ || calls > 1) wall = seconds_ * std::max(calls, 1);
  return runner::Sample{seconds_, false, wall, 0};
}

Status DeviceCandidate::warm() {
  seconds_ = LATHE_TRY(single());
  return {};
}

}  // namespace lathe::cuda
