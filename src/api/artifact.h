// The artifact a user takes away: library, C header and a small C program that calls it.
#pragma once

#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/schedule/step.h"
#include "compiler/te/program.h"

namespace lathe::api {

struct ArtifactFiles {
  std::string library, header, example;  // paths
  std::string name;                      // lathe_NAME_create ...
};

// `path` is the library's, NAME.so; header and example go beside it. `name` empty: the file's.
Result<ArtifactFiles> write_artifact(const te::Program& program, const schedule::Trace& trace, const Target& target,
                                     const std::string& path, const std::string& name);

// The example's text: fills every input, runs once, prints the first numbers of each output.
std::string example_text(const flat::Program& program, const std::string& name, const std::string& library);

}  // namespace lathe::api
