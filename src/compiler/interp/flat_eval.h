// Runs a flat program the slow, checked way: the oracle for code generation and the detective for
// lowering.
//
// Values have the exact semantics of flat.h: every f32, f16 or bf16 operation is done in wider
// arithmetic and rounded to its type, transcendental functions are libm's in f64, rounded. What
// compiled code must not do is an error here:
//   - an access outside its buffer, whatever lies there
//   - reading a register that nothing wrote in this iteration of a parallel loop
//   - depending on storage that has no value there: that nothing wrote; that another buffer
//     sharing the place wrote last; a worker's area after its iteration ended; an element that
//     another iteration of the parallel loop writes. To load such an element is harmless, as tiles
//     do that read more lanes than they keep: the lane is poison, and so is what is computed from
//     it, but for the branch a select does not take. An error is poison in an address, a condition
//     or a mask, and in an element of an output at the end
//   - two iterations of a parallel loop writing different values to one element
//   - an element of an output that is never written
//   - an output that depends on the order of the iterations of parallel loops
// Iterations of parallel loops run in a seeded random order, each on a random worker; then all once
// more, in the opposite order.
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

// prepare, then run. Inputs and outputs are storage in the layout of their Border. Padding of an
// output that the program does not write is filled with bytes 0xff.
Result<std::vector<Bytes>> eval_flat(const flat::Program& program, std::span<const Bytes> inputs,
                                     const FlatOptions& options = {});

// Between a tensor's elements in row-major order and its storage. Padding is filled with bytes
// 0xff: NaN for reals.
std::int64_t storage_offset(const flat::Border& border, std::span<const std::int64_t> index);
Bytes to_storage(const flat::Border& border, std::span<const double> values);
std::vector<double> from_storage(const flat::Border& border, const Bytes& storage);

}  // namespace lathe::interp
