/* How long one call of a library takes, in nanoseconds: the fastest and the median of 21 stretches.
 * Built against called.h and called.so of bench_speed: a product of two square matrices.
 *   call_time SIZE CALLS */
#define _GNU_SOURCE
#include "called.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kStretches = 21 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static DLTensor matrix(int64_t* shape) {
  const size_t count = (size_t)(shape[0] * shape[1]);
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = aligned_alloc(64, (count * 4 + 63) / 64 * 64);
  if (t.data == NULL) exit(1);
  for (size_t i = 0; i < count; ++i) ((float*)t.data)[i] = (float)(i % 17) / 16.0f;
  t.device.device_type = kDLCPU;
  t.ndim = 2;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int calls = atoi(argv[2]);
  int64_t shape[] = {atoi(argv[1]), atoi(argv[1])};
  DLTensor a = matrix(shape), b = matrix(shape), c = matrix(shape);
  const DLTensor* inputs[] = {&a, &b};
  DLTensor* outputs[] = {&c};
  double times[kStretches];
  lathe_called* handle;
  if (lathe_called_create(NULL, &handle) != LATHE_OK) return 1;
  if (lathe_called_prepare(handle, inputs) != LATHE_OK) return 1;
  for (int s = 0; s < kStretches; ++s) {
    const double begin = now();
    for (int i = 0; i < calls; ++i)
      if (lathe_called_run(handle, inputs, outputs) != LATHE_OK) return 1;
    times[s] = (now() - begin) / calls;
  }
  qsort(times, kStretches, sizeof times[0], compare);
  printf("%.2f %.2f\n", times[0], times[kStretches / 2]);
  return 0;
}
