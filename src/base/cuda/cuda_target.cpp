#include "base/cuda/cuda_target.h"

#include <algorithm>

#include "base/target.h"

namespace lathe {

namespace {

constexpr int kMostLanesOfCode = 16;  // of vectors that are several accesses
constexpr int kAccessBytes = 16;      // of one thread's widest load
constexpr int kHasCopies = 80;        // the first architecture with copies past registers

}  // namespace

std::string CudaTarget::text() const { return fmt::format("{}{}", kCuda, name); }

int CudaTarget::lanes(int element_bytes) const { return std::max(1, kAccessBytes / element_bytes); }

const char* CudaTarget::lacking_on(const CudaTarget& machine) const {
  if (architecture > machine.architecture) return "has an older architecture";
  if (block_bytes > machine.block_bytes) return "has less shared memory for a block";
  if (block_threads > machine.block_threads) return "has smaller blocks";
  return nullptr;
}

Abilities CudaTarget::abilities() const {
  return {.rounding = true,
          .f16 = true,
          .scaling = false,
          .fma = true,
          .tf32_tiles = false};  // from sm_80 on they have them, but no kernel on a grid uses them
}

std::optional<Grids> CudaTarget::grids() const {
  return Grids{.most_items = block_threads,
               .most_lanes = kMostLanesOfCode,
               .group_bytes = block_bytes,
               .lanes = lanes(4),
               .units = std::max(1, multiprocessors),
               .copies = architecture >= kHasCopies,
               .exchanges = true,
               .scratch_bytes = memory_bytes / 2};
}

Result<CudaTarget> parse_cuda_target(std::string_view text) {
  CudaTarget target{.name = std::string(text.substr(kCuda.size()))};
  if (target.name.empty() || target.name == "host:")
    return fail(ErrorKind::kInvalidArgument,
                "target \"{}\" names no card; write cuda:host, an architecture such as "
                "cuda:sm_80, a card such as cuda:A100, or cuda:FILE with a file that describes one",
                text);
  return target;
}

std::string CudaFingerprint::cpu() const { return fmt::format("{}/{}", model, driver); }

std::string CudaFingerprint::text() const { return fmt::format("{} driver={}", model, driver); }

}  // namespace lathe
