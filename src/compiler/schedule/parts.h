// Parts of a block's body: expressions inside it, and the factors of its product. Steps number
// them.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::schedule {

// The expressions in e, itself first, in the order of for_each_node().
std::vector<ir::Expr> subexpressions(const ir::Expr& e);
// e with `by` wherever it has `what`.
ir::Expr replaced(const ir::Expr& e, const ir::Expr& what, const ir::Expr& by);

// The factors of e, from left to right, those of products in it included; e itself where it is no
// product. The absolute value of a product has the absolute values of its factors. A quotient of
// floats has those of its numerator and 1 / x, for each part x of its denominator that depends on
// other iterators.
std::vector<ir::Expr> factors_of(const ir::Expr& e);
// From left to right; at least one. 1 / x divides what stands before it.
ir::Expr product_of(const std::vector<ir::Expr>& factors);

// The terms of e, from left to right, those of sums and differences in it included; e itself where
// it is neither.
struct Term {
  ir::Expr value;
  bool subtracted = false;
};
std::vector<Term> terms_of(const ir::Expr& e);
ir::Expr sum_of(const std::vector<Term>& terms);  // at least one

// Terms with a factor taken out of those that have it, at the place of the first of these.
struct Collected {
  std::vector<Term> all;
  ir::Expr rest;          // by what the factor is multiplied
  std::size_t terms = 0;  // that have the factor
};
Collected collected_by(const std::vector<Term>& terms, const ir::Expr& factor);

// The iterators that e depends on, in the order in which its indices have them.
std::vector<int> iters_in_order(const ir::Expr& e);
std::set<int> iters_of(const ir::Expr& e);

// The axes of a tensor that holds an expression's values. An expression depends on its iterators
// by the rows of its reads' indices. One axis stands for all rows that are multiples of one linear
// combination, so that exp(X[y + r]) has a single one.
struct ValueAxis {
  ir::Affine along;       // no offset, coefficients without a common divisor
  std::int64_t low = 0;   // its least value
  std::int64_t size = 1;  // how many there are from that to the largest
};
// Of an expression in a block, the axes with the fewest elements: by the rows, or an axis for each
// iterator. What is reduced over the iterators of `reduced` has no axis for these.
std::vector<ValueAxis> value_axes(const ir::Nest& nest, const ir::Block& block, const ir::Expr& e,
                                  const std::set<int>& reduced = {});
double elements_of(const std::vector<ValueAxis>& axes);
// The expression in iterators that count along these axes, axis a as iterator a. Iterators without
// an axis get the numbers of `others`.
ir::Expr along_axes(const ir::Expr& e, const std::vector<ValueAxis>& axes,
                    const std::map<int, int>& others = {});
// Where the block reads what has these axes.
std::vector<ir::Affine> index_along(const std::vector<ValueAxis>& axes);

}  // namespace lathe::schedule
