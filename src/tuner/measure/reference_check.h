// Checks a reference against the expression, because the compiler that made it also makes the
// candidates that it judges.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/te/workload.h"
#include "tuner/measure/reference.h"

namespace lathe::measure {

struct Disagreement {
  int output = 0;          // the output's number
  std::int64_t index = 0;  // row-major
  double got = 0, want = 0, bound = 0;
  bool blind = false;  // the reference is right, but allows any error: got is its bound
};

// Row-major offsets of at least kCheckedElements elements of a tensor, or of all if it is smaller.
// First come corners, then a grid over a few coordinates of every dimension (its ends and random
// ones), so that elements share what they are made of; then some anywhere.
inline constexpr std::int64_t kCheckedElements = 256;
std::vector<std::int64_t> elements_to_check(const std::vector<std::int64_t>& shape,
                                            std::uint64_t seed);

// Computes those elements of every output with the expression evaluator, at full size and on the
// same inputs, and compares. After 30 million terms it stops at kCheckedElements; after 400 million
// (some 20 seconds) it stops anyway. So it checks fewer elements where each of 256 sums more than
// 1.5 million terms, and none where one sums more than 400 million. A sum of more than 30 million
// terms is evaluated as algebra rewrites it, where it does. Of a scan it checks elements up to a
// million steps from its beginning. Returns nothing if they agree.
std::optional<Disagreement> check_reference(const te::Workload& workload,
                                            const std::vector<std::vector<double>>& inputs,
                                            const Reference& reference, std::uint64_t seed);

}  // namespace lathe::measure
