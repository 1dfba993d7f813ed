// What all handles of a library have in common in a process: its packed constants. The first handle
// makes them or maps the file in which they lie, others wait for that, and the last one frees them.
#pragma once

#include <cstdint>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/message.h"

namespace lathe::artifact {

// The areas with which a handle packs.
struct Packer {
  const lathe_runtime* runtime;
  void* const* constants;  // inputs, all null
  char *workspace, *workers;
};

// Counts a handle in, and tells with `constants` where they are. `weights` is the path of their
// file, null for the one beside the library, where the library has one. Else it is no handle of
// theirs, and the message says why.
std::int32_t join_shared(const lathe_artifact& artifact, const Packer& packer, const char* weights,
                         char** constants, Message& message);
void leave_shared(const lathe_artifact& artifact);

}  // namespace lathe::artifact
