// Random arguments of every named operator, of awkward sizes: ones, primes, tails.
#pragma once

#include <cstdint>

#include "compiler/ops/operators.h"

namespace lathe::space {

// A test fails for an operator that this does not know.
ops::Arguments awkward_arguments(const ops::Operator& op, std::uint64_t seed);

}  // namespace lathe::space
