// Linear forms over the variables of the flat program: the value of an iterator, an index or an
// address at a place in the code.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

struct Range {  // both ends included
  std::int64_t min = 0, max = 0;
};

// c + sum coef * var + lane * (number of the vector lane)
struct Lin {
  struct Term {
    int var;
    std::int64_t coef;
  };
  std::int64_t c = 0;
  std::vector<Term> terms;  // sorted by var, coef never 0
  std::int64_t lane = 0;

  void add(std::int64_t factor, int var);
  void add(std::int64_t factor, const Lin& other);
  bool is_static() const { return terms.empty() && lane == 0; }
};

// The values that a form takes, given `ranges` of the variables and the number of vector lanes.
Range range_of(const Lin& lin, const std::vector<Range>& ranges, int lanes);
// The scalar part (lane 0), as an expression `dynamic + immediate`.
flat::Expr scalar_expr(const Lin& lin);
// The form with its lanes: a scalar or a ramp.
flat::Expr vector_expr(const Lin& lin, int lanes);

}  // namespace lathe::lower
