// Runs a flat program the slow, checked way: the oracle for code generation and the detective for lowering.
//
// Values have the exact semantics of flat.h: every f32, f16 or bf16 operation is done in wider arithmetic and rounded to
// its type, transcendental functions are libm's in f64, rounded. What compiled code must not do is an error here:
//   - an access outside its buffer, whatever lies there
//   - reading storage or a register that nothing wrote: outputs, constants, workspace; a worker's area or a register
//     after its iteration of a parallel loop ended; storage that another buffer sharing the place wrote last
//   - two iterations of a parallel loop touching the same element of shared storage, one of them writing it (but for
//     writing the same bits, which tiles that overlap do)
//   - an element of an output that is never written
// Iterations of parallel loops run in a seeded random order, each on a random worker.
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

// prepare, then run. Inputs and outputs are storage in the layout of their Border. Padding of an output that the program
// does not write is filled with bytes 0xff.
Result<std::vector<Bytes>> eval_flat(const flat::Program& program, std::span<const Bytes> inputs,
                                     const FlatOptions& options = {});

// Between a tensor's elements in row-major order and its storage. Padding is filled with bytes 0xff: NaN for reals.
std::int64_t storage_offset(const flat::Border& border, std::span<const std::int64_t> index);
Bytes to_storage(const flat::Border& border, std::span<const double> values);
std::vector<double> from_storage(const flat::Border& border, const Bytes& storage);

}  // namespace lathe::interp
