// How the terms of a reduction depend on the extreme of the same elements: by exp(element -
// maximum) or by element == extreme.
#pragma once

#include <optional>

#include "compiler/ir/expr/expr.h"

namespace lathe::schedule {

struct Extreme {
  int buffer;        // that holds it
  ir::ReduceOp op;   // kMax or kMin
  ir::Expr element;  // what it is the extreme of, in the iterators of the block with the terms
  ir::Expr part;     // the extreme of the part that a term belongs to, likewise
};

struct ExtremeTerm {
  ir::Expr body;           // the term, relative to the extreme of its part
  bool exponential;        // else it is a selection
  bool guarded = false;    // an exponential subtracts 0 for an infinite extreme
  bool keeps_nan = false;  // a selection also takes elements that are NaN
  ir::Expr otherwise;      // of a selection: the term of any other element
};

// Nothing if the terms depend on the extreme in any other way.
std::optional<ExtremeTerm> extreme_term_of(const ir::Expr& body, ir::ReduceOp reduce,
                                           const Extreme& extreme);

// What a partial result contributes, whose part has the extreme `own`, to that of all elements,
// whose extreme is `all`.
ir::Expr contribution(const ExtremeTerm& term, ir::ReduceOp extreme, const ir::Expr& partial,
                      const ir::Expr& own, const ir::Expr& all);

}  // namespace lathe::schedule
