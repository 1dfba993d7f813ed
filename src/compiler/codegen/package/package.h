// Exporting a program for others to use: a shared library with a C interface, and its header.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::package {

// Whether `name` can be part of C identifiers and meets none that every header has, and whether the
// library `path` is no file that is written beside it.
Status check_names(const std::string& name, const std::string& path);

// The processor whose programs call the artifact of a device.
struct Host {
  Target target;
  const codegen::Backend& backend;
};

// The constants of a program that has no prepare, in a file beside the library, by whose name the
// library finds it there (runtime/artifact/weights.h).
struct Weights {
  std::string file;  // without a folder
  std::span<const std::byte> bytes;
};

// The C header of the artifact: its functions, and what each tensor is and how it is stored.
// `remarks` are paragraphs about the program, for the header's first comment. `weights` is the name
// of their file; empty: there is none.
std::string header_text(const std::string& name, const flat::Program& program, const Target& target,
                        const std::vector<std::string>& remarks, const std::string& weights = "");

// How the header tells in which file the weights are.
std::string place_of_weights(const std::string& file);

struct Artifact {
  std::string library, header;  // paths
};
// Writes `path` (say, resnet18.so), the header beside it (resnet18.h) and the weights, if there are
// some. Each appears whole or not at all. The library exports the functions of the header, the list
// of its artifacts for programs that open it without the header (runtime/artifact/artifact.h), and
// nothing else. A target that is no processor needs a host; others take no notice of it. Weights
// need a processor.
Result<Artifact> write_artifact(const std::string& name, const flat::Program& program,
                                const Target& target, const codegen::Backend& backend,
                                const std::string& path,
                                const std::vector<std::string>& remarks = {},
                                const Host* host = nullptr, const Weights* weights = nullptr);

}  // namespace lathe::package
