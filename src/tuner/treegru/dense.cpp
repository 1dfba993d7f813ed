#include "tuner/treegru/dense.h"

#include <algorithm>
#include <cstdint>

// Where the CPU has smaller vectors, the compiler splits those of 64 bytes. None crosses a call, so
// their ABI does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::treegru {
namespace {

constexpr int kLanes = 16;
typedef float Vector __attribute__((vector_size(64)));
// Anywhere in memory
typedef float Anywhere __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::uint32_t Bits __attribute__((vector_size(64)));

#define LATHE_INLINE [[gnu::always_inline]] inline

LATHE_INLINE const Anywhere& at(const float* p) { return *reinterpret_cast<const Anywhere*>(p); }
LATHE_INLINE Anywhere& at(float* p) { return *reinterpret_cast<Anywhere*>(p); }

// Replaces x by exp(x), within 2e-7, for |x| up to 80; beyond, by exp of 80 or -80.
LATHE_INLINE void exponentiate(Vector& x) {
  x = x > 80.0F ? Vector{} + 80.0F : x;
  x = x < -80.0F ? Vector{} - 80.0F : x;
  // x = n log 2 + f. Adding 1.5 * 2^23 leaves n in the low bits.
  constexpr float kRound = 12582912.0F;
  const Vector shifted = x * 1.44269504F + kRound;
  const Vector n = shifted - kRound;
  const Vector f = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  Vector p = f * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * f + 8.3334519073e-3F;
  p = p * f + 4.1665795894e-2F;
  p = p * f + 1.6666665459e-1F;
  p = p * f + 5.0000001201e-1F;
  p = p * f * f + f + 1.0F;
  Bits power = (Bits)shifted;
  power = (power + 127U) << 23U;
  x = p * (Vector)power;
}

LATHE_INLINE void sigmoid(Vector& x) {
  x = -x;
  exponentiate(x);
  x = 1.0F / (1.0F + x);
}

LATHE_INLINE void hyperbolic_tangent(Vector& x) {
  x = x * 2.0F;
  exponentiate(x);
  x = 1.0F - 2.0F / (x + 1.0F);
}

// Multiplies kRows rows by one panel and keeps the result in registers.
template <int kRows>
LATHE_INLINE void multiply_tile(const float* a, int depth, const float* b, float* out,
                                int columns) {
  Vector low[kRows], high[kRows];
  for (int r = 0; r < kRows; ++r) {
    low[r] = at(out + static_cast<std::ptrdiff_t>(r) * columns);
    high[r] = at(out + static_cast<std::ptrdiff_t>(r) * columns + kLanes);
  }
  for (int k = 0; k < depth; ++k, b += PackedMatrix::kPanel) {
    const Vector b0 = at(b), b1 = at(b + kLanes);
    for (int r = 0; r < kRows; ++r) {
      const float x = a[static_cast<std::ptrdiff_t>(r) * depth + k];
      low[r] += x * b0;
      high[r] += x * b1;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    at(out + static_cast<std::ptrdiff_t>(r) * columns) = low[r];
    at(out + static_cast<std::ptrdiff_t>(r) * columns + kLanes) = high[r];
  }
}

template <int kRows>
LATHE_INLINE void multiply_add(const float* a, int rows, const PackedMatrix& b, float* out) {
  const int depth = b.rows(), columns = b.columns();
  for (int p = 0; p < columns / PackedMatrix::kPanel; ++p) {
    float* to = out + static_cast<std::ptrdiff_t>(p) * PackedMatrix::kPanel;
    int r = 0;
    for (; r + kRows <= rows; r += kRows)
      multiply_tile<kRows>(a + static_cast<std::ptrdiff_t>(r) * depth, depth, b.panel(p),
                           to + static_cast<std::ptrdiff_t>(r) * columns, columns);
    for (; r < rows; ++r)
      multiply_tile<1>(a + static_cast<std::ptrdiff_t>(r) * depth, depth, b.panel(p),
                       to + static_cast<std::ptrdiff_t>(r) * columns, columns);
  }
}

LATHE_INLINE void gru(const float* from_input, const float* from_state, int stride, int rows,
                      int hidden, float* h) {
  for (int row = 0; row < rows; ++row, from_input += stride, from_state += stride, h += hidden) {
    for (int i = 0; i < hidden; i += kLanes) {
      Vector r = at(from_input + i) + at(from_state + i);
      Vector u = at(from_input + hidden + i) + at(from_state + hidden + i);
      sigmoid(r);
      sigmoid(u);
      Vector c = at(from_input + 2 * hidden + i) + r * at(from_state + 2 * hidden + i);
      hyperbolic_tangent(c);
      at(h + i) = c + u * (at(h + i) - c);
    }
  }
}

#define LATHE_VARIANT(name, kRows, ...)                                                     \
  __VA_ARGS__ void multiply_add_##name(const float* a, int rows, const PackedMatrix& b,     \
                                       float* out) {                                        \
    multiply_add<kRows>(a, rows, b, out);                                                   \
  }                                                                                         \
  __VA_ARGS__ void gru_##name(const float* from_input, const float* from_state, int stride, \
                              int rows, int hidden, float* h) {                             \
    gru(from_input, from_state, stride, rows, hidden, h);                                   \
  }
// Takes as many rows as the registers have room for: a row of a panel takes 2 of 32 registers, 4 of
// 16, 8 of 16 or 32.
LATHE_VARIANT(plain, 1)
#ifdef __x86_64__
LATHE_VARIANT(avx2, 3, [[gnu::target("avx2,fma")]])
LATHE_VARIANT(avx512, 8, [[gnu::target("avx512f,fma")]])
#endif

}  // namespace

PackedMatrix::PackedMatrix(const Matrix& matrix)
    : rows_(matrix.rows),
      columns_((matrix.columns + kPanel - 1) / kPanel * kPanel),
      values_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_)) {
  for (int r = 0; r < rows_; ++r)
    for (int c = 0; c < matrix.columns; ++c)
      values_[(static_cast<std::size_t>(c / kPanel) * rows_ + r) * kPanel + c % kPanel] =
          matrix.row(r)[c];
}

Dense::Dense() : multiply_add_(multiply_add_plain), gru_(gru_plain) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    multiply_add_ = multiply_add_avx2;
    gru_ = gru_avx2;
  }
  if (__builtin_cpu_supports("avx512f")) {
    multiply_add_ = multiply_add_avx512;
    gru_ = gru_avx512;
  }
#endif
}

}  // namespace lathe::treegru
