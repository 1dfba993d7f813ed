// What generates code for one kind of target, as functions: the rest of Lathe knows no other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::codegen {

struct Object {
  // Of a processor a relocatable object. It exports `lathe_module` (runtime/module/abi.h), or the
  // functions of an artifact and the list of a library's artifacts (runtime/artifact/artifact.h),
  // and nothing else. Of a device its image: text, and what is launched of it.
  std::vector<std::byte> bytes;
  int spills = 0;  // vector stack slots after register allocation, all functions
  std::int64_t code_bytes = 0;
  double emit_seconds = 0, llvm_seconds = 0;
  std::string remark;  // of what carries an image: a sentence about the code inside
  // It spilled, was built again without the scheduler before register allocation, and that was
  // better.
  bool rescheduled = false;
};

// The artifact that the code of a processor becomes. Without a name, it is exported as the table of
// its module alone.
struct Exported {
  std::string name;
  // The file beside the library that holds what prepare would make; empty: there is none.
  std::string weights;
  std::uint64_t weights_hash = 0;
};

// A form of the code that `lathe show` prints.
struct Listing {
  const char* name;  // of `--what`
  Result<std::string> (*text)(const flat::Program& program, const Target& target);
};

struct Backend {
  const char* name;
  // In every record: times compare only between equal versions. It goes up when the code that is
  // generated gets faster or slower.
  int version;
  std::string (*built_with)();  // "LLVM 19.1.7"
  // Whether it generates code for such targets, resolved or not.
  bool (*accepts)(const Target& target);
  // Fills the derived members of a target (vector width, registers, FMA ...) and resolves "host".
  // The error for an unknown processor names similar ones.
  Result<Target> (*resolve_target)(const Target& target);
  // As an artifact, the object of a processor also has its table and the functions lathe_NAME_...,
  // which need the artifact's runtime beside them (runtime/artifact). The object of a device is
  // carried by that of a processor.
  Result<Object> (*generate)(const flat::Program& program, const Target& target,
                             const Exported& artifact);
  // What the runtime loads, the image. Of a processor it is a shared object that imports nothing:
  // an undefined symbol is an error. `extra` are objects that are linked beside it and arguments
  // for the linker (an artifact's runtime, "-lc").
  Result<std::vector<std::byte>> (*link)(const Object& object, const Target& target,
                                         const std::vector<std::string>& extra);
  // Of a processor: what generate() makes with the name of an artifact, but it carries the image of
  // a device of this kind in place of machine code and needs that artifact's runtime beside it
  // (runtime/artifact/opencl, runtime/artifact/cuda). `program` is what the image was made of.
  // Null: it cannot.
  Result<Object> (*carry)(const Object& image, DeviceKind kind, const flat::Program& program,
                          const Target& target, const std::string& artifact);
  std::span<const Listing> listings;
};

}  // namespace lathe::codegen
