// Sums of multiples of the same inputs, with what several of them have in common computed once.
#pragma once

#include <vector>

namespace lathe::cook_toom {

struct Term {
  int value;      // an input; from inputs on, temporary number value - inputs
  double factor;  // never 0
  friend bool operator==(const Term&, const Term&) = default;
};
using Sum = std::vector<Term>;  // no terms: 0

struct SharedSums {
  int inputs = 0;
  std::vector<Sum> temporaries;  // each may use those before it
  std::vector<Sum> outputs;

  // Additions, multiplications and multiply-adds, where multiplying by 1 or -1 is free.
  int operations() const;
};

// One output for each row: the sum of row[i] times input i. Terms of factor 0 are left out. Takes
// the pair of terms that most rows share, up to a common factor, and makes it a temporary, until
// no two rows share a pair.
SharedSums share_sums(const std::vector<std::vector<double>>& rows);

}  // namespace lathe::cook_toom
