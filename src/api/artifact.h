// The artifact that a user takes away: a library, its C header, and a small example in C that calls
// it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "api/checked.h"
#include "api/schedules.h"
#include "base/result.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/te/workload.h"

namespace lathe::api {

struct ArtifactRequest {
  std::string path;  // of the library, STEM.so
  // lathe_NAME_create ...; empty: the stem of the path, with _ in place of what C does not allow.
  std::string name;
  Checking checking = Checking::kOnce;
  // The file of the weights, in the library's folder; empty: they lie in the library.
  std::string weights;
};

struct ArtifactFiles {
  std::string library, header, example;  // paths: STEM.so, STEM.h, STEM_example.c in one folder
  std::string weights;                   // that of their file, beside these; empty: there is none
  std::string name;
  Checked checked;  // the header tells it, too
};

// The header also tells the times of the choice's record.
Result<ArtifactFiles> write_artifact(const te::Workload& workload, const Chosen& chosen,
                                     const ArtifactRequest& request);

// Its two halves, for programs of other origin. The first checks path and name, before anything is
// built, and returns them; the second writes, with remarks for the header and the constants of a
// program whose weights have a file.
Result<ArtifactFiles> files_of(const ArtifactRequest& request);
Result<ArtifactFiles> write_program(const flat::Program& program, const Target& target,
                                    const std::vector<std::string>& remarks, const Checked& checked,
                                    ArtifactFiles files, std::span<const std::byte> weights = {});

// The text of the example beside `library`, which is a file's name, for a device of this kind. It
// fills every input, runs once, and prints the first numbers of each output, whatever their types.
// It is C99 and compiles without a warning.
std::string example_text(const flat::Program& program, const std::string& name,
                         const std::string& library, DeviceKind kind);

}  // namespace lathe::api
