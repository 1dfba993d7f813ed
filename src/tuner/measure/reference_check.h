// Whether a reference, which goes through the compiler that is judged by it, is what the expression
// says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/te/program.h"
#include "tuner/measure/reference.h"

namespace lathe::measure {

struct Disagreement {
  int output = 0;          // number of it
  std::int64_t index = 0;  // row-major
  double got = 0, want = 0, bound = 0;
  bool blind = false;  // the reference is right but allows any error: got is its bound
};

// Row-major offsets of at least kCheckedElements elements of a tensor, all of a smaller one:
// corners first, then a grid over a few coordinates of every dimension, its ends and random ones,
// so that elements share what they are made of, then some anywhere.
inline constexpr std::int64_t kCheckedElements = 256;
std::vector<std::int64_t> elements_to_check(const std::vector<std::int64_t>& shape,
                                            std::uint64_t seed);

// Computes those of every output with the expression evaluator, at full size, on the same inputs,
// and compares. After a second it stops at kCheckedElements, after some twelve seconds (400 million
// terms) wherever it is: of 256 elements that are sums of more than 1.5 million terms each it sees
// fewer, of an element of more than 400 million nothing. None: they agree.
std::optional<Disagreement> check_reference(const te::Program& program,
                                            const std::vector<std::vector<double>>& inputs,
                                            const Reference& reference, std::uint64_t seed);

}  // namespace lathe::measure
