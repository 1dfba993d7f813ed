// Random index expressions with awkward shapes, for property tests of everything that takes a
// program.
//
//   Rng rng(seed);
//   te::Program p = random_program(rng);                     // any form, f32
//   te::Program p = random_program(rng, {.dtypes = true});   // any form and element type
// A failing test prints its seed and te::print_program(p), which parse_program() reads.
//
// Forms: matmul in all transposes and batched; convolutions in one and two dimensions (stride,
// dilation, padding, groups, depthwise); each of these with an optional epilogue. Also pooling, row
// reductions, softmax, element-wise chains with broadcasts and functions, reversed and strided
// reads, padded copies, literals, constant intermediates, iterator values under select, several
// outputs; with dtypes also masks and quantized products; and what staged_program.h makes. Sizes
// are mostly ones, primes, and one more or less than a power of two.
// primes and one off a power of two.
#pragma once

#include "base/rng.h"
#include "compiler/te/program.h"

namespace lathe {

struct RandomProgramOptions {
  bool dtypes = false;                   // other types than f32, too
  std::int64_t max_iterations = 30'000;  // of all stages together
};

te::Program random_program(Rng& rng, const RandomProgramOptions& options = {});

}  // namespace lathe
