/* Calls a kernel that lathe_add_kernel() made, and compares what it computes with three loops. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "product.h"

enum { kInner = 67, kRows = 48, kColumns = 31 };

static DLTensor tensor(float* data, int64_t* shape) {
  DLTensor t = {0};
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = 2;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

int main(void) {
  static float a[kInner * kRows], b[kInner * kColumns], c[kRows * kColumns];
  int64_t a_shape[] = {kInner, kRows}, b_shape[] = {kInner, kColumns},
          c_shape[] = {kRows, kColumns};
  DLTensor tensors[] = {tensor(a, a_shape), tensor(b, b_shape), tensor(c, c_shape)};
  const DLTensor* inputs[] = {&tensors[0], &tensors[1]};
  DLTensor* outputs[] = {&tensors[2]};
  lathe_product* handle;
  double worst = 0;
  int i, j, k;

  for (i = 0; i < kInner * kRows; ++i) a[i] = (float)(i % 7) - 3;
  for (i = 0; i < kInner * kColumns; ++i) b[i] = (float)(i % 5) - 2;
  if (lathe_product_create(NULL, &handle) != LATHE_OK ||
      lathe_product_run(handle, inputs, outputs) != LATHE_OK) {
    fprintf(stderr, "product: %s\n", lathe_product_message(handle));
    return 1;
  }
  lathe_product_destroy(handle);
  for (i = 0; i < kRows; ++i)
    for (j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (k = 0; k < kInner; ++k) sum += (double)a[k * kRows + i] * b[k * kColumns + j];
      worst = fmax(worst, fabs(sum - c[i * kColumns + j]));
    }
  printf("the largest error is %g\n", worst);
  return worst < 1e-3 ? 0 : 1;
}
