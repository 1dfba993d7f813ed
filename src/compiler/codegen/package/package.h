// Exporting a program for others to use: a shared library with a C interface, and its header.
#pragma once

#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::package {

// "" if `name` can be part of a C identifier, else what is wrong with it.
std::string fault_of_name(const std::string& name);

// The C header of the artifact: its functions, and what each tensor is and how it is stored.
std::string header_text(const std::string& name, const flat::Program& program,
                        const Target& target);

struct Artifact {
  std::string library, header;  // paths
};
// Writes `path` (say, resnet18.so) and the header beside it (resnet18.h). Both appear whole or not
// at all.
Result<Artifact> write_artifact(const std::string& name, const flat::Program& program,
                                const Target& target, const std::string& path);

}  // namespace lathe::package
