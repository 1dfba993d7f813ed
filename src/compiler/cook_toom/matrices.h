// Cook-Toom algorithms: short sums over neighbours, with fewer products (Winograd, "Arithmetic
// Complexity of Computations", 1980; Lavin and Gray, arXiv:1509.09308, write them this way).
//
// F(m, r) computes m neighbouring outputs of a sum over r taps,
//     y[i] = sum(j < r) w[j] * x[i + j]       for i < m,
// from m + r - 1 products:
//     y = output * ((filter * w) .* (input * x))
// where .* multiplies element by element. The matrices follow from as many points: the products
// are values of a polynomial at these.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/cook_toom/rational.h"

namespace lathe::cook_toom {

using Matrix = std::vector<std::vector<Rational>>;  // by row

struct Matrices {
  Matrix output;  // m x (m + r - 1)
  Matrix filter;  // (m + r - 1) x r
  Matrix input;   // (m + r - 1) x (m + r - 1); the last element of a row that is not 0 is 1
};

inline constexpr int kMostPositions = 13;        // m + r - 1
inline constexpr std::int64_t kMostTaps = 7;     // r, of a residue
inline constexpr std::int64_t kLargestTile = 6;  // m

// The m + r - 2 finite points that are used, different from each other; the last one is infinity.
// They are small powers of two in pairs of opposite sign, so that transforms share sums;
// bench/math/cook_toom measures their errors and those of others.
std::vector<Rational> best_points(int outputs, int taps);

// `outputs` is m, `taps` is r; both are at least 1, and m + r - 1 is at most kMostPositions.
Matrices matrices(int outputs, int taps, const std::vector<Rational>& points);
Matrices matrices(int outputs, int taps);  // with the best points

// A sum over neighbours with a stride is a sum of others without one, its residues. Residue a has
// the taps a, a + stride, a + 2*stride ... and the elements of the input that these meet.
struct Residues {
  std::int64_t count = 1;
  std::int64_t taps = 1, last_taps = 1;  // of the first residue and the last; at most one less

  bool several() const { return count > 1; }
  bool last_is_short() const { return last_taps < taps; }
  // Whether a sum over `summed` taps may use a filter of `own`: the tap that a short residue lacks
  // is read beyond the filter, as 0.
  bool may_use(std::int64_t summed, std::int64_t own) const {
    return last_is_short() ? summed == own : summed <= own;
  }
  // Of the filter, in all residues with so many positions each. The value at infinity, the last
  // position, is 0 where the last residue has a tap less than the first, and left out.
  std::int64_t filter_positions(std::int64_t positions) const {
    return count * positions - (last_is_short() ? 1 : 0);
  }
};
Residues residues_of(std::int64_t taps, std::int64_t stride);

// A sum over neighbours that reads its input at stride*y + dilation*tap is several sums without a
// dilation, its strands. Strand s has the results s, s + count, s + 2*count ... Along it, results
// are read at inner_stride*y + tap, of elements that lie `dilation` apart.
struct Strands {
  std::int64_t count = 1, inner_stride = 1;

  bool several() const { return count > 1; }
  // Results of the longest strand.
  std::int64_t longest(std::int64_t results) const { return (results + count - 1) / count; }
};
Strands strands_of(std::int64_t stride, std::int64_t dilation);

// The largest error of a direct sum of so many products in f32, relative to the largest result, and
// by how much F(m, r) with the best points multiplies it along one axis: about what
// bench/math/cook_toom measures on random inputs and on inputs with a large mean (where two axes
// are transformed, of the square root). The growth with the terms is that of the errors of programs
// for C2, C6, C9 and C12 (F(6x6): 0.9e-5 to 2.3e-5 for 64 to 512 channels).
double direct_error(std::int64_t terms);
double error_growth(int outputs, int taps);

}  // namespace lathe::cook_toom
