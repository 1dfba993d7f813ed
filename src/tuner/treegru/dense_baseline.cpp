#define LATHE_DENSE dense_baseline
#define Eigen eigen_baseline
#include "tuner/treegru/dense_kernels.h"
#undef Eigen
#undef LATHE_DENSE
