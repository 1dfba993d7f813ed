// How far the roundings of a sum over neighbours reach, where results next to each other are
// computed together (te::Numerics::kLocal).
//
// A Cook-Toom algorithm mixes all elements of an operand that a tile of results reads: the rounding
// of a result goes with the largest of these. So for the bound of an element, an operand's element
// is replaced by the largest one that any tile may mix it with.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/te/workload.h"

namespace lathe::measure {

// Along one dimension of an operand: which indices the sum reads, and how far from each of them
// elements lie that a tile mixes with it: so many steps each way. No steps: none.
struct Reach {
  std::int64_t low = 0, high = 0;  // least and greatest index, which may be outside of the tensor
  std::int64_t steps = 0, step = 1;
};
using Neighbourhood = std::vector<Reach>;  // by dimension

// A sum of products of two reads, of which one at least goes over neighbours.
struct MixedSum {
  ir::Read a, b;
  Neighbourhood around_a, around_b;
  double channels = 1;  // terms of an element that are no taps
};

// Nothing if no tile of results is ever computed together: if the stage is no such sum, if outputs
// saturate and no algorithm is named, or if the contract wants each element by itself. Reads of
// mere copies count as reads of what these copy.
std::optional<MixedSum> mixed_sum(const te::Workload& workload, const te::Stage& stage);

// By how much the algorithms that a contract allows multiply the error of a direct sum.
double allowed_growth(const te::Contract& contract, const MixedSum& sum);

}  // namespace lathe::measure
