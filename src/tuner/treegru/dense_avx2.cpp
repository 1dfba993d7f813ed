#ifdef __x86_64__
#define LATHE_DENSE dense_avx2
#define Eigen eigen_avx2
#include "tuner/treegru/dense_kernels.h"
#undef Eigen
#undef LATHE_DENSE
#endif
