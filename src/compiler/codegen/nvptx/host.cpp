#include <stdlib.h>

#include <algorithm>

#include "compiler/codegen/nvptx/cards.h"
#include "runtime/device/cuda/devices.h"

namespace lathe::codegen {
namespace {

constexpr int kNewestArchitecture = 90;  // later cards run its programs, through the driver

// Two transfers in a period of the memory's clock.
int gigabytes_a_second(const cuda::Facts& facts) {
  const double bytes = 2.0 * facts.bus_bits / 8 * facts.memory_clock_khz * 1e3;
  return std::max(1, static_cast<int>(bytes / 1e9));
}

CudaTarget target_of_facts(const cuda::Facts& facts) {
  return {.name = facts.name,
          .architecture = std::min(facts.architecture, kNewestArchitecture),
          .multiprocessors = facts.multiprocessors,
          .registers = facts.registers,
          .shared_bytes = facts.shared_bytes,
          .threads = facts.threads,
          .blocks = facts.blocks,
          .block_bytes = facts.block_bytes,
          .block_threads = facts.block_threads,
          .thread_registers = facts.thread_registers,
          .l2_bytes = facts.l2_bytes,
          .memory_bytes = facts.memory_bytes,
          .clock_mhz = std::max(1, facts.clock_khz / 1000),
          .gigabytes_a_second = gigabytes_a_second(facts)};
}

}  // namespace

Result<CudaTarget> query_cuda_card(std::string_view name) {
  constexpr std::string_view kNumbered = "host:";
  const cuda::Devices devices = LATHE_TRY(cuda::ask_for_devices());
  if (name == "host") return target_of_facts(devices.facts[devices.chosen]);
  const bool numbered = name.starts_with(kNumbered);
  const std::string wanted(numbered ? name.substr(kNumbered.size()) : name);
  const cuda::Facts& facts = devices.facts[LATHE_TRY(choose_device(devices.facts, wanted))];
  // The runners that this process starts have to open the same card, and several have one name.
  if (numbered) ::setenv("LATHE_CUDA_DEVICE", facts.uuid.c_str(), 1);
  return target_of_facts(facts);
}

}  // namespace lathe::codegen
