// Runs a flat program in the slow, checked way. It tells tests what generated code should compute,
// and finds faults of lowering.
//
// Values have the exact semantics of flat.h: every f32, f16 or bf16 operation is done in wider
// arithmetic and rounded to its type; transcendental functions are libm's in f64, rounded. These
// are errors here, for compiled code must not do them:
//   - an access outside its buffer, whatever lies there
//   - reading a register that nothing wrote in this iteration of a parallel phase
//   - depending on storage that has no value there: because nothing wrote it; because another
//     buffer that shares the place wrote it last; because it is a thread's area after the end of
//     its iteration, a region's area after the end of the region, or scratch of prepare() in a run;
//     because another iteration of the same phase writes it. To load such an element does no harm,
//     for tiles read more lanes than they keep: the lane is poison, and so is what is computed from
//     it, except for the branch that a select does not take. Poison is an error in an address, a
//     condition or a mask, and in an element of an output at the end
//   - two iterations of a phase that write different values to one element
//   - an element of an output that is never written
//   - an output that depends on the order of the iterations of parallel phases
// The iterations of a phase, and the points of a grid, run in a seeded random order, each on a
// random worker; then everything runs once more in the opposite order. What is said here of a phase
// holds for a grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::interp {

using Bytes = std::vector<std::byte>;

struct FlatOptions {
  std::uint64_t seed = 1;
  int workers = 3;
};

// Runs prepare, then run. Inputs and outputs are storage in the layout of their Border. Padding of
// an output that the program does not write holds bytes 0xff.
Result<std::vector<Bytes>> eval_flat(const flat::Program& program, std::span<const Bytes> inputs,
                                     const FlatOptions& options = {});

// These convert between a tensor's elements in row-major order and its storage. Padding is filled
// with bytes 0xff: NaN for reals.
std::int64_t storage_offset(const flat::Border& border, std::span<const std::int64_t> index);
Bytes to_storage(const flat::Border& border, std::span<const double> values);
std::vector<double> from_storage(const flat::Border& border, const Bytes& storage);

}  // namespace lathe::interp
