// A file of weights beside a library: its packed constants, mapped read-only, so that handles and
// processes share them. `lathe compile --weights` writes it (compiler/codegen/package).
#pragma once

#include <cstdint>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/message.h"

namespace lathe::artifact {

// The file begins with it, in the byte order of the machine; zeros fill it up to kWeightsHead
// bytes. Then come the constants, and nothing more.
struct WeightsHead {
  char magic[16];
  std::int64_t bytes;  // of constants
  std::uint64_t hash;  // of them, which the library knows, too
};
inline constexpr char kWeightsMagic[16] = "lathe weights 1";
inline constexpr std::int64_t kWeightsHead = 4096;

struct Weights {
  void* constants;
  std::int64_t bytes;  // that are mapped, with the head; 0: it is no file
};

// Null for `path`: the file beside the library, which moves with it. The message names the file and
// says what to do. LATHE_OK without constants: the system has no memory for them.
std::int32_t map_weights(const lathe_artifact& artifact, const char* path, Weights& mapped,
                         Message& message);
void unmap_weights(const Weights& mapped);

}  // namespace lathe::artifact
