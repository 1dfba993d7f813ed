/* Uses an artifact that lathe made of
 *   Y[i,j] = max(sum(k) X[i,k] * W[k,j] + B[j], 0)
 * with constant W and B, and prints Y, a number a line:
 *   cc dense.c -I. ./dense.so -o dense && ./dense
 */
#include "dense.h"

#include <stdio.h>

enum { kRows = 5, kInner = 7, kColumns = 19 };

static DLTensor tensor(float* data, int64_t* shape, int dimensions) {
  DLTensor t = {0};
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = dimensions;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

static int stop(const char* what, const lathe_dense* handle) {
  fprintf(stderr, "%s: %s\n", what, lathe_dense_message(handle));
  return 1;
}

int main(void) {
  static float x[kRows * kInner], w[kInner * kColumns], b[kColumns], y[kRows * kColumns];
  int64_t x_shape[] = {kRows, kInner}, w_shape[] = {kInner, kColumns}, b_shape[] = {kColumns};
  int64_t y_shape[] = {kRows, kColumns};
  DLTensor tensors[] = {tensor(x, x_shape, 2), tensor(w, w_shape, 2), tensor(b, b_shape, 1),
                        tensor(y, y_shape, 2)};
  const DLTensor* inputs[] = {&tensors[0], &tensors[1], &tensors[2]};
  DLTensor* outputs[] = {&tensors[3]};
  lathe_dense* handle;
  int i;

  for (i = 0; i < kInner * kColumns; ++i) w[i] = (float)(i % 5 - 2);
  for (i = 0; i < kColumns; ++i) b[i] = (float)(i % 3) * 0.5f;
  if (lathe_dense_create(NULL, &handle) != LATHE_OK) return stop("create", NULL);
  if (lathe_dense_prepare(handle, inputs) != LATHE_OK) return stop("prepare", handle);

  for (i = 0; i < kRows * kInner; ++i) x[i] = (float)(i % 7 - 3) * 0.25f;
  if (lathe_dense_run(handle, inputs, outputs) != LATHE_OK) return stop("run", handle);
  lathe_dense_destroy(handle);
  for (i = 0; i < kRows * kColumns; ++i) printf("%.9g\n", y[i]);
  return 0;
}
