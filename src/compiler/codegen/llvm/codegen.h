// Flat program -> machine code through LLVM 19, without its mid-level passes: the IR is final when
// it is emitted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::codegen {

// All that follows, for the list of back ends; its functions are documented there.
const Backend& llvm_backend();

Result<Target> resolve_target(const Target& target);
Result<Object> generate(const flat::Program& program, const Target& target,
                        const Exported& artifact = {});
Result<Object> carry_image(const Object& image, DeviceKind kind, const flat::Program& program,
                           const Target& target, const std::string& artifact);
// An object for x86-64 that needs nothing else is linked by link_alone(), anything else by a
// linker.
Result<std::vector<std::byte>> link_shared(const Object& object, const Target& target,
                                           const std::vector<std::string>& extra = {});
Result<std::vector<std::byte>> link_alone(const Object& object);
// By the system's ld (for this machine) or ld.lld (for others).
Result<std::vector<std::byte>> link_by_linker(const Object& object, const Target& target,
                                              const std::vector<std::string>& extra);
Error undefined_symbol_error(const std::string& symbol);

// For people: `lathe show`.
Result<std::string> llvm_ir(const flat::Program& program, const Target& target);
Result<std::string> assembly(const flat::Program& program, const Target& target);

}  // namespace lathe::codegen
