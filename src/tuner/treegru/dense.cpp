#include "tuner/treegru/dense.h"

namespace lathe::treegru {

#define LATHE_DECLARE(variant)                                                                     \
  namespace variant {                                                                              \
  void multiply_add(const float* a, int rows, int depth, int columns, const float* b, float* out); \
  void gru(const float* from_input, const float* from_state, int rows, int hidden, float* h);      \
  }
LATHE_DECLARE(dense_baseline)
#ifdef __x86_64__
LATHE_DECLARE(dense_avx2)
LATHE_DECLARE(dense_avx512)
#endif
#undef LATHE_DECLARE

Dense::Dense() : multiply_add_(dense_baseline::multiply_add), gru_(dense_baseline::gru) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    multiply_add_ = dense_avx2::multiply_add;
    gru_ = dense_avx2::gru;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
      multiply_add_ = dense_avx512::multiply_add;
      gru_ = dense_avx512::gru;
    }
  }
#endif
}

}  // namespace lathe::treegru
