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
//     it, except for the branch that a select does not take. Poison is an error in an address
//     that is loaded from or stored to, a condition or a mask, and in an element of an output at
//     the end
//   - two iterations of a phase that write different values to one element
//   - an element of an output that is never written
//   - an output that depends on the order of the iterations of parallel phases
// The iterations of a phase run in a seeded random order, each on a random worker; then everything
// runs once more in the opposite order.
//
// So do the groups of a grid, one after the other, and the items of a group from one barrier to the
// next. Of a grid these are errors, too:
//   - two items touch an element between the same barriers, or two groups in one kernel, and not
//     all of them only load it
//   - a barrier or an exchange to which not all items of the group come
//   - loading what an asynchronous copy fills before it is awaited, or, by another item than the
//     one that awaited it, before the barrier after; storing to what is copied, or over what is on
//     its way
//   - asynchronous copies, and where the options ask for it all vectors, whose place is no multiple
//     of their size
// The memory of a group is storage that has no value when the group begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::interp {

using Bytes = std::vector<std::byte>;

// Vectors of more bytes are accessed in parts of so many.
inline constexpr int kWidestAccess = 16;

struct FlatOptions {
  std::uint64_t seed = 1;
  int workers = 3;
  // A vector of consecutive elements without a mask must lie at a multiple of its bytes, where
  // these are a power of two; at a multiple of kWidestAccess, where they are more.
  bool aligned_vectors = false;
  bool verified = true;  // by flat::verify; else only what runs is looked at
};

enum class FaultKind {
  kOther,
  kOutside,     // of its buffer
  kRace,        // of two items, or groups
  kDivergence,  // not all items come to a barrier
  kUnwritten,   // a load of what nothing has written
  kEarly,       // a load of what is copied, before it is there
  kMisaligned,
};
const char* name_of(FaultKind kind);

// What is wrong with a program.
struct FlatFault {
  FaultKind kind = FaultKind::kOther;
  std::string place;  // the first line of the statement that touches the element, as print() has it
  std::string buffer;  // or empty
  std::int64_t index = -1;
  std::string message;
};

// Runs prepare, then run. Inputs and outputs are storage in the layout of their Border. Padding of
// an output that the program does not write holds bytes 0xff.
// Where the program is at fault, `fault` is filled.
Result<std::vector<Bytes>> eval_flat(const flat::Program& program, std::span<const Bytes> inputs,
                                     const FlatOptions& options = {}, FlatFault* fault = nullptr);

// These convert between a tensor's elements in row-major order and its storage. Padding is filled
// with bytes 0xff: NaN for reals.
std::int64_t storage_offset(const flat::Border& border, std::span<const std::int64_t> index);
Bytes to_storage(const flat::Border& border, std::span<const double> values);
std::vector<double> from_storage(const flat::Border& border, const Bytes& storage);

}  // namespace lathe::interp
