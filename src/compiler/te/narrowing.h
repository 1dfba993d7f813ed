// Integers that are known to be small are computed in 32 bits: vectors hold twice as many of them.
#pragma once

#include <optional>
#include <span>

#include "compiler/te/workload.h"

namespace lathe::te {

// An i64 expression of iterators and numbers, as one of i32 with the same values; none where a
// value on the way might not fit, or where it reads a tensor (but in the conditions of selects).
std::optional<ir::Expr> narrowed(const ir::Expr& e, std::span<const Iterator> iters);

}  // namespace lathe::te
