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

inline constexpr int kVersion = 1;  // in every record: times compare only between equal versions

// Fills the derived members of a target (vector width, registers, FMA ...) and resolves cpu "host".
// The error for an unknown cpu names similar ones.
Result<Target> resolve_target(const Target& target);

struct Object {
  std::vector<std::byte>
      bytes;       // a relocatable ELF object exporting `lathe_module` (runtime/module/abi.h)
  int spills = 0;  // vector stack slots after register allocation, all functions
  std::int64_t code_bytes = 0;
  double emit_seconds = 0, llvm_seconds = 0;
  bool rescheduled =
      false;  // spilled, so it was built again with pre-RA scheduling off and that was better
};
Result<Object> generate(const flat::Program& program, const Target& target);

// For people: `lathe show`.
Result<std::string> llvm_ir(const flat::Program& program, const Target& target);
Result<std::string> assembly(const flat::Program& program, const Target& target);

// A shared object that imports nothing, linked by the system's ld (x86-64 here) or ld.lld (other
// machines). An undefined symbol is an error. `extra_objects` are paths linked beside it (the
// artifact's runtime).
Result<std::vector<std::byte>> link_shared(const Object& object, const Target& target,
                                           const std::vector<std::string>& extra_objects = {});

}  // namespace lathe::codegen
