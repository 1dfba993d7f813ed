// The kernels of Dense, for the instructions that the including source is compiled for. The source
// defines LATHE_DENSE, the namespace of its kernels, and Eigen, the name that Eigen's namespace has
// in it: of templates that several sources compile under one name the linker would keep one,
// perhaps one that this CPU cannot run.
#pragma once

#include <Eigen/Core>

namespace lathe::treegru::LATHE_DENSE {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void multiply_add(const float* a, int rows, int depth, int columns, const float* b, float* out) {
  const Eigen::Map<const RowMajor> left(a, rows, depth), right(b, depth, columns);
  Eigen::Map<RowMajor> sum(out, rows, columns);
  if (rows == 1) {  // Eigen would add up in another order
    RowMajor both = sum.replicate(2, 1);
    both.noalias() += left.replicate(2, 1).eval() * right;
    sum = both.row(0);
  } else {
    sum.noalias() += left * right;
  }
}

void gru(const float* from_input, const float* from_state, int rows, int hidden, float* h) {
  // Elements at once, so that what lies between stays in registers.
  using Some = Eigen::Array<float, 16, 1>;
  const auto at = [](const float* p) { return Eigen::Map<const Some>(p); };
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < hidden; i += 16) {
      const float *x = from_input + i, *s = from_state + i;
      const Some r = (at(x) + at(s)).logistic();
      const Some u = (at(x + hidden) + at(s + hidden)).logistic();
      const Some c = (at(x + 2 * hidden) + r * at(s + 2 * hidden)).tanh();
      Eigen::Map<Some> state(h + i);
      state = c + u * (state - c);
    }
    from_input += 3 * hidden;
    from_state += 3 * hidden;
    h += hidden;
  }
}

}  // namespace lathe::treegru::LATHE_DENSE
