// Uses plain memory and no exceptions: this file goes into artifacts, which need libc only.
#include "runtime/artifact/shared.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "runtime/artifact/weights.h"
#include "runtime/module/scratch.h"
#include "runtime/pool/waiting.h"

namespace lathe::artifact {
namespace {

// A forked child takes the lock from a thread of its parent, which it does not have. It finds no
// half of a change: constants are there or not, by one store.
class Lock {
 public:
  explicit Lock(lathe_shared& shared) : shared_(shared) {
    const std::atomic_ref<std::uint32_t> word(shared.lock);
    const auto self = static_cast<std::uint32_t>(getpid());
    for (;;) {
      std::uint32_t holder = 0;
      if (word.compare_exchange_strong(holder, self, std::memory_order_acquire)) return;
      if (holder == self) pool::futex_wait(&shared.lock, self);
      else if (word.compare_exchange_strong(holder, self, std::memory_order_acquire)) return;
    }
  }
  ~Lock() {
    std::atomic_ref<std::uint32_t>(shared_.lock).store(0, std::memory_order_release);
    pool::futex_wake(&shared_.lock, 1);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  lathe_shared& shared_;
};

void publish(lathe_shared& shared, void* constants) {
  std::atomic_ref<void*>(shared.constants).store(constants, std::memory_order_release);
}

// Of a literal: the system reads pages of the library's file again where they are needed after all.
void give_back(const char* begin, std::int64_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (at + page - 1) / page * page,
                       end = (at + static_cast<std::uintptr_t>(bytes)) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

// Kernel by kernel: what one has read is given back before the next one reads, so that most of the
// raw weights are never in memory together.
void* packed(const lathe_artifact& artifact, const Packer& packer) {
  void* area = module::allocate_scratch(artifact.module->constant_bytes);
  if (area == nullptr) return nullptr;
  for (std::int64_t p = 0; p < artifact.packings; ++p) {
    const lathe_packing& packing = artifact.packing[p];
    if (packing.kernel != nullptr)
      packing.kernel(packer.runtime, packer.constants, area, packer.workspace, packer.workers);
    else if (packing.literal != nullptr) give_back(packing.literal, packing.bytes);
    else
      give_back(static_cast<char*>(area) + packing.bytes,
                artifact.module->constant_bytes - packing.bytes);
  }
  return area;
}

}  // namespace

std::int32_t join_shared(const lathe_artifact& artifact, const Packer& packer, const char* weights,
                         char** constants, Message& message) {
  lathe_shared& shared = *artifact.shared;
  const Lock lock(shared);
  if (shared.constants == nullptr) {
    Weights mapped{};
    if (artifact.weights != nullptr) {
      const std::int32_t status = map_weights(artifact, weights, mapped, message);
      if (status != LATHE_OK) return status;
    } else {
      mapped.constants = packed(artifact, packer);
    }
    if (mapped.constants == nullptr) {
      message.clear();
      message.add("there is not enough memory for the packed constants");
      return LATHE_OUT_OF_MEMORY;
    }
    shared.mapped = mapped.bytes;
    publish(shared, mapped.constants);
    shared.handles = 0;
  }
  ++shared.handles;
  *constants = static_cast<char*>(shared.constants);
  return LATHE_OK;
}

void leave_shared(const lathe_artifact& artifact) {
  lathe_shared& shared = *artifact.shared;
  const Lock lock(shared);
  if (--shared.handles > 0) return;
  Weights mapped{shared.constants, shared.mapped};
  publish(shared, nullptr);
  if (mapped.bytes > 0) unmap_weights(mapped);
  else std::free(mapped.constants);
}

}  // namespace lathe::artifact
