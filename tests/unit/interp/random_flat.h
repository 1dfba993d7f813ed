// Random flat programs that are legal by construction: every access in bounds, everything read was
// written, iterations of parallel loops independent, every output element written. The same seed
// gives the same program and inputs.
#pragma once

#include <vector>

#include "base/rng.h"
#include "compiler/ir/flat/flat.h"
#include "oracle/flat_eval.h"

namespace lathe::testing {

struct RandomFlatOptions {
  bool math = false;    // exp, tanh, ...: results then agree only within rounding
  bool halves = false;  // f16 and bf16 buffers, casts and arithmetic
  // Without the operations and types that came later: seeds that found faults before mean the same.
  bool early = false;
};

flat::Program random_flat(Rng& rng, const RandomFlatOptions& options);
std::vector<interp::Bytes> random_inputs(Rng& rng, const flat::Program& program);

}  // namespace lathe::testing
