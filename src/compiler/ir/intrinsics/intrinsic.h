// Intrinsics: what may do the work of a whole subtree of loops, as data. A row says which loops it
// takes, of which element types, which lane holds which element, and who has it. Tensorize,
// lowering, the check of numerics and back ends read rows; none has a line for a single one.
//
// An intrinsic computes, for all values of its iterators,
//     result[...] = reduce over the reducing iterators of (left[...] * right[...])
// on top of what the result has. Each operand is indexed by the iterators that its fragment names,
// in any order of dimensions; another iterator does not move it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/expr/expr.h"

namespace lathe::ir {

// The number of a row of intrinsics(); kNone where loops do their work themselves. The number is
// good within one process: traces keep the name.
enum class IntrinsicId : std::int8_t { kNone = -1 };

// A part of a number, which is that of a lane or that of an element among those of one lane:
//     weight * ((number / div) % mod)
struct FragmentDigit {
  enum class Of : std::uint8_t { kLane, kElement } of = Of::kLane;
  int weight = 0, div = 1, mod = 1;

  constexpr int value(int lane, int element) const {
    return weight * (((of == Of::kLane ? lane : element) / div) % mod);
  }
};

// The value of one iterator for the element that a lane holds: the sum of the digits.
struct FragmentCoordinate {
  int iter = -1;  // an index into Intrinsic::iters; -1: there is no such coordinate
  std::array<FragmentDigit, 2> digits;

  constexpr int value(int lane, int element) const {
    return digits[0].value(lane, element) + digits[1].value(lane, element);
  }
  // The number of the lane is the value, whatever the element is.
  constexpr bool is_lane() const {
    return digits[0].of == FragmentDigit::Of::kLane && digits[0].weight == 1 &&
           digits[0].div == 1 && digits[1].weight == 0;
  }
};

// One operand: which of its elements each lane holds. An operand whose coordinates have no digit of
// the lane is the same in all of them.
struct Fragment {
  Dtype dtype = Dtype::kF32;  // of the tensor's elements
  // Bits of the mantissa, without the leading one, to which an element is rounded before it is
  // multiplied: to nearest, ties away from zero. 0: it is taken as it is.
  int mantissa_bits = 0;
  int elements = 0;  // that each lane holds; on GPUs its registers, in this order
  std::array<FragmentCoordinate, 2> coordinates;

  constexpr bool has(int iter) const {
    return std::ranges::find(coordinates, iter, &FragmentCoordinate::iter) != coordinates.end();
  }
};

struct Intrinsic {
  struct Iter {
    int extent = 0;
    bool reduces = false;
  };

  std::string_view name;  // in traces, so it never changes
  ReduceOp reduce = ReduceOp::kSum;
  std::array<Iter, 3> iters;
  int lanes = 0;  // of a vector where lowering writes the intrinsic out; else of a warp
  Fragment result, left, right;
  Dtype accumulator = Dtype::kF32;  // in which terms are added up; of the products, too
  // What a target must be able to do. Null: lowering writes it out for every target, as
  // multiply-adds of vectors. Each lane then holds what its results are made of.
  bool Abilities::* ability = nullptr;
  std::string_view call;   // the instruction, as assemblers spell it; empty: written out
  std::string_view found;  // which devices have the instruction, as a part of a sentence

  constexpr bool is_written_out() const { return ability == nullptr; }
  // The iterator whose value is the number of the lane that holds a result; -1: there is none. In a
  // vector it must move the result by one element of its innermost dimension.
  constexpr int lane_iter() const {
    const auto lane = std::ranges::find_if(
        result.coordinates, [](const auto& c) { return c.iter >= 0 && c.is_lane(); });
    return lane == result.coordinates.end() ? -1 : lane->iter;
  }
  // Terms that one result gets.
  constexpr int terms() const {
    int count = 1;
    for (const Iter& iter : iters) count *= iter.reduces ? iter.extent : 1;
    return count;
  }
  // Calls bind(iterator, value) for the reducing iterators of a term; the last one is the fastest.
  template <class Bind>
  void bind_term(int term, const Bind& bind) const {
    for (int i = static_cast<int>(iters.size()) - 1; i >= 0; --i) {
      if (!iters[static_cast<std::size_t>(i)].reduces) continue;
      bind(i, term % iters[static_cast<std::size_t>(i)].extent);
      term /= iters[static_cast<std::size_t>(i)].extent;
    }
  }
  // The largest relative error of a product that the rounding of its factors makes.
  double product_error() const;
};

std::span<const Intrinsic> intrinsics();  // all there are (table.cpp)

const Intrinsic& row_of(IntrinsicId id);                     // not of kNone
std::string_view name_of(IntrinsicId id);                    // "gemm8x8"; "" of none
Result<IntrinsicId> intrinsic_named(std::string_view name);  // never kNone; an error lists them

// kUnsupported where the target has no such instruction and lowering does not write it out.
Status check_has(const Target& target, const Intrinsic& intrinsic);

}  // namespace lathe::ir
