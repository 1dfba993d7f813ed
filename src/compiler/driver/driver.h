// The one way from an expression and a trace to code.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/codegen/backend.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe::driver {

using Backends = std::span<const codegen::Backend* const>;

// The first of them that generates code for the target. kUnsupported: there is none.
Result<const codegen::Backend*> backend_for(const Target& target, Backends backends);
// As that back end resolves it.
Result<Target> resolve_target(const Target& target, Backends backends);

// The least level of numerics that allows the trace: what a program of it promises.
te::Numerics numerics_of(const schedule::Trace& trace);

// The naive nest of the workload under the trace. The error's place is the step that cannot be
// done.
Result<ir::Nest> scheduled(const te::Workload& workload, const schedule::Trace& trace);
// The same, lowered.
Result<flat::Program> lowered(const te::Workload& workload, const schedule::Trace& trace,
                              const Target& target);

struct Code {
  std::vector<std::byte> library;  // the image: of a processor, a shared object
  codegen::Object object;          // what it was linked from
  double generate_seconds = 0, link_seconds = 0;
};
Result<Code> compile(const flat::Program& program, const Target& target, Backends backends);

struct Compiled {
  flat::Program program;
  Code code;
};
// From the beginning to the end. A broken invariant is an error of building, too.
Result<Compiled> build(const te::Workload& workload, const schedule::Trace& trace,
                       const Target& target, Backends backends);

std::unexpected<Error> compiler_bug(const InvariantError& broken);

}  // namespace lathe::driver
