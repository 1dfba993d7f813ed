// Reductions whose condition bounds an iterator: sum(s) select(lo(t) <= s && s < hi(t), X[s], 0).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/expr/index_range.h"
#include "compiler/ir/nest/nest.h"

namespace lathe::schedule {

// iterator <= limit where it is from above, else iterator >= limit.
struct Bound {
  ir::Expr limit;  // of i64, without the iterator
  bool above = false;
};
struct BoundedTerms {
  ir::Expr terms;                  // what is reduced where all conditions hold
  std::vector<Bound> bounds;       // of the iterator
  std::vector<ir::Expr> bounding;  // for each of them, the condition that it is
  std::vector<ir::Expr> others;    // all other conditions
};
// The body as such terms. What is reduced where a condition fails is the reduction's neutral
// element. A sum may also have its condition as a factor, of 0 and 1 or a select. Nothing where no
// condition bounds the iterator.
std::optional<BoundedTerms> bounded_terms(const ir::Nest& nest, const ir::Block& block, int iter);

ir::Expr all_of(const std::vector<ir::Expr>& conditions);  // at least one

// Of the block's iterators and the elements of literals.
ir::IndexRange range_in(const ir::Nest& nest, const ir::Block& block, const ir::Expr& e);

// The iterations of a loop that an iterator's bounds leave, over all values of other iterators.
struct WindowOf {
  ir::Expr start;           // the first one that may count, of i64; not below 0
  std::int64_t length = 1;  // of the longest window; 1 if all are empty
  // True where the start is affine and its window is shorter than the loop from wherever it begins,
  // before the first iteration and behind the last, too.
  bool may_leave = false;
};
WindowOf window_of(const ir::Nest& nest, const ir::Block& block, int iter,
                   const std::vector<Bound>& bounds);
// The same, which never may.
WindowOf window_inside(const ir::Nest& nest, const ir::Block& block, int iter,
                       const std::vector<Bound>& bounds);
// e <= limit, or limit <= e, as a condition; nothing where it always holds.
std::optional<ir::Expr> condition_of(const ir::Nest& nest, const ir::Block& block,
                                     const ir::Expr& e, const Bound& bound);

}  // namespace lathe::schedule
