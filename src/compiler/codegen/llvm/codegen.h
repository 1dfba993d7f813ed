// Flat program -> machine code through LLVM 19, without its mid-level passes: the IR is final when
// it is emitted.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::codegen {

inline constexpr int kVersion = 3;  // in every record: times compare only between equal versions

// Fills the derived members of a target (vector width, registers, FMA ...) and resolves cpu "host".
// The error for an unknown cpu names similar ones.
Result<Target> resolve_target(const Target& target);

struct Object {
  // A relocatable ELF object. It exports `lathe_module` (runtime/module/abi.h), or the functions of
  // an artifact and nothing else.
  std::vector<std::byte> bytes;
  int spills = 0;  // vector stack slots after register allocation, all functions
  std::int64_t code_bytes = 0;
  double emit_seconds = 0, llvm_seconds = 0;
  bool rescheduled =
      false;  // spilled, so it was built again with pre-RA scheduling off and that was better
};
// With the name of an artifact, the object also has its table and the functions lathe_NAME_...,
// which need the artifact's runtime beside them (runtime/artifact).
Result<Object> generate(const flat::Program& program, const Target& target,
                        const std::string& artifact = "");

// Whether a tensor is stored row-major without padding.
bool is_row_major(const flat::Border& border);

// For people: `lathe show`.
Result<std::string> llvm_ir(const flat::Program& program, const Target& target);
Result<std::string> assembly(const flat::Program& program, const Target& target);

// A shared object, linked by the system's ld (for this machine) or ld.lld (for others). It imports
// nothing: an undefined symbol is an error. `extra` are objects linked beside it and arguments for
// the linker (an artifact's runtime, "-lc").
Result<std::vector<std::byte>> link_shared(const Object& object, const Target& target,
                                           const std::vector<std::string>& extra = {});

}  // namespace lathe::codegen
