// The arithmetic of scoring: products of small matrices and the gates of a GRU, by Eigen, with the
// widest vectors of this CPU. Scoring is the inner loop of the search, so the library that trains
// does not do it. An element of a result depends on its own row only, not on how many rows there
// are.
#pragma once

#include "tuner/treegru/weights.h"

namespace lathe::treegru {

class Dense {
 public:
  // The columns of b come in multiples of it: Eigen takes 3 vectors of up to 16 floats at once, and
  // adds up fewer of them in an order that depends on the number of rows.
  static constexpr int kColumns = 48;
  Dense();  // for the CPU on which it runs
  // out += a * b. a has rows x b.rows elements, out has rows x b.columns; all are row-major.
  void multiply_add(const float* a, int rows, const Matrix& b, float* out) const {
    multiply_add_(a, rows, b.rows, b.columns, b.values.data(), out);
  }
  // One step of a GRU (weights.h) for `rows` loops: makes the new states in h from from_input = x W
  // + b and from_state = h U, whose rows have 3 * hidden elements. hidden must be a multiple of 16.
  void gru(const float* from_input, const float* from_state, int rows, int hidden, float* h) const {
    gru_(from_input, from_state, rows, hidden, h);
  }

 private:
  void (*multiply_add_)(const float* a, int rows, int depth, int columns, const float* b,
                        float* out);
  void (*gru_)(const float* from_input, const float* from_state, int rows, int hidden, float* h);
};

}  // namespace lathe::treegru
