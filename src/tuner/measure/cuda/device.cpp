#include "tuner/measure/cuda/device.h"

#include <stdlib.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/device/cuda/devices.h"
#include "runtime/device/cuda/program.h"
#include "tuner/measure/grid_kernels.h"

namespace lathe::measure::cuda {
namespace {

// What the machine has, asked once: another process answers.
const Result<lathe::cuda::Devices>& cards_here() {
  static const Result<lathe::cuda::Devices> cards = lathe::cuda::ask_for_devices();
  return cards;
}

// The one that a runner opens; of none: no record has its name.
Fingerprint card_here() {
  const auto& cards = cards_here();
  return cards ? lathe::cuda::fingerprint_of(cards->facts[cards->chosen])
               : Fingerprint{CudaFingerprint{}};
}

// Where nothing is timed, programs for another card may run here; the runner tells if one cannot.
Status check_card(const Target& target, const Options& options) {
  const auto& cards = cards_here();
  if (!cards) return std::unexpected(cards.error());
  const std::string& name = cards->facts[cards->chosen].name;
  if (name == target.as_cuda().name || options.visits == 0) return {};
  return fail(
      ErrorKind::kInvalidArgument,
      "programs for {} cannot be timed here, where the card is {}; use cuda:host, or choose "
      "another with LATHE_CUDA_DEVICE",
      target.text(), name);
}

// The card works while processors build. One of them belongs to the runner, which waits for it.
Gate gate_of_card(const Target&, const Options& options) {
  return {.timed = {},
          .others = {},
          .overlap = true,
          .builders = std::max(1, options.jobs - 1),
          .guest = false};
}

// Assembles in a context that never launches anything; the runner finds the code in the cache that
// both have.
class AheadAssembler final : public Assembler {
 public:
  AheadAssembler(std::unique_ptr<lathe::cuda::Device> card, device::BinaryCache cache)
      : card_(std::move(card)), cache_(std::move(cache)) {}

  Status assemble(Built& built) override {
    if (card_->lost()) return {};
    const auto image = LATHE_TRY(lathe::cuda::image_from(built.library));
    const auto program = lathe::cuda::Program::build(*card_, image, cache_);
    if (!program) {
      const Error& error = program.error();
      // Where it is this process that fails, the runner will tell what it is.
      if (error.kind == ErrorKind::kBuild || error.kind == ErrorKind::kUnsupported)
        return std::unexpected(error);
      log(LogLevel::kDebug, "a builder cannot assemble: {}", error.text());
      return {};
    }
    for (const lathe::cuda::Resources& resources : (*program)->resources())
      LATHE_TRY_STATUS(take(resources, built));
    for (const device::Launch& launch : image.run)
      built.shared_bytes = std::max(built.shared_bytes, launch.group_bytes);
    return {};
  }

 private:
  // A thread that keeps more in memory than arrays of its own may have is slow for certain, and
  // need not be measured.
  static Status take(const lathe::cuda::Resources& resources, Built& built) {
    constexpr std::int64_t kRegisterBytes = 4, kMostSpills = 640;
    const std::int64_t spills = resources.spilled_bytes / kRegisterBytes;
    built.spills += static_cast<int>(spills);
    built.registers = std::max(built.registers, resources.registers);
    built.shared_bytes = std::max(built.shared_bytes, resources.shared_bytes);
    if (spills <= kMostSpills) return {};
    return fail(ErrorKind::kBuild,
                "the kernel {} keeps {} values of a thread in memory, for it has no register for "
                "them; more than {} are not measured",
                resources.kernel, spills, kMostSpills);
  }

  std::unique_ptr<lathe::cuda::Device> card_;
  device::BinaryCache cache_;
};

std::unique_ptr<Assembler> make_assembler() {
  constexpr const char* kAnyKey = "any";
  auto cache = device::BinaryCache::of_this_user("cuda");
  if (cache.path_of(kAnyKey).empty()) return nullptr;
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  auto card = lathe::cuda::Device::open();
  if (card) return std::make_unique<AheadAssembler>(std::move(*card), std::move(cache));
  log(LogLevel::kDebug, "builders do not assemble: {}", card.error().text());
  return nullptr;
}

constexpr Device kDevice{.kind = DeviceKind::kCuda,
                         .runner = "lathe-cuda-runner",
                         .watched = "zones in which a write is noticed",
                         .opening_seconds = 4,
                         .fingerprint = card_here,
                         .check = check_card,
                         .gate = gate_of_card,
                         .peak_kernel = grid_peak_kernel,
                         .stream_kernel = grid_stream_kernel,
                         .spare = true,
                         .make_assembler = make_assembler};

}  // namespace

const Device& device() { return kDevice; }

}  // namespace lathe::measure::cuda
