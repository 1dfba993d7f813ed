// The arithmetic of scoring: products of small matrices and the gates of a GRU, with the widest
// vectors of this CPU. Scoring is the inner loop of the search, so the library that trains does not
// do it. An element of a result depends on its own row only, not on how many rows there are.
#pragma once

#include <vector>

#include "tuner/treegru/weights.h"

namespace lathe::treegru {

// A matrix laid out for multiplication: in panels of kPanel columns, the last one filled up with
// zeros.
class PackedMatrix {
 public:
  static constexpr int kPanel = 32;
  PackedMatrix() = default;
  explicit PackedMatrix(const Matrix& matrix);
  int rows() const { return rows_; }
  int columns() const { return columns_; }  // a multiple of kPanel
  const float* panel(int p) const {
    return values_.data() + static_cast<std::size_t>(p) * rows_ * kPanel;
  }

 private:
  int rows_ = 0, columns_ = 0;
  std::vector<float> values_;
};

class Dense {
 public:
  Dense();  // for the CPU on which it runs
  // out += a * b. a has rows x b.rows() elements, out has rows x b.columns(); both are row-major.
  void multiply_add(const float* a, int rows, const PackedMatrix& b, float* out) const {
    multiply_add_(a, rows, b, out);
  }
  // One step of a GRU (weights.h) for `rows` loops: makes the new states in h from from_input = x W
  // + b and from_state = h U, whose rows are `stride` wide, at least 3 * hidden. hidden must be a
  // multiple of 16.
  void gru(const float* from_input, const float* from_state, int stride, int rows, int hidden,
           float* h) const {
    gru_(from_input, from_state, stride, rows, hidden, h);
  }

 private:
  void (*multiply_add_)(const float*, int, const PackedMatrix&, float*);
  void (*gru_)(const float*, const float*, int, int, int, float*);
};

}  // namespace lathe::treegru
