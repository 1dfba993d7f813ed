/* Hand-made candidates: a small matmul, C[i,j] = sum(k) A[k,i] * B[k,j], and everything that can go
 * wrong with one. KIND says which; the library of each is built by CMake. */
#include <stddef.h>
#include <stdint.h>

#include "runtime/module/abi.h"

enum { M = 13, N = 17, K = 11 };

enum Kind {
  GOOD,
  SLOW,
  REFERENCE,
  CRASH,
  HANG,
  EXIT,
  OVERRUN,
  FAR_OVERRUN,
  WRITE_INPUT,
  WRONG,
  PARTIAL,
  HOG,
  OVERFLOW_STACK,
  ILLEGAL,
  GARBAGE,
  OTHER_ABI,
  HANG_LATER,
  BAD_PREPARE,
  READS_SCRATCH,
  WRONG_REFERENCE,
  BLIND_REFERENCE,
  SLEEPY,
  DOZING
};

static volatile int64_t sink;
static int runs;

static void matmul(const float* a, const float* b, float* c) {
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[k * M + i] * b[k * N + j];
      c[i * N + j] = sum;
    }
}

/* What the reference program computes: the value and its bound, in f64. */
static void reference(const double* a, const double* b, double* value, double* bound) {
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0, size = 0;
      for (int k = 0; k < K; ++k) {
        const double term = a[k * M + i] * b[k * N + j];
        sum += term;
        size += term < 0 ? -term : term;
      }
      value[i * N + j] = sum;
      bound[i * N + j] = 13 * 0x1p-23 * size;
    }
}

static long system_call(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
#else
  (void)number, (void)a, (void)b, (void)c;
  return -1;
#endif
}

/* Time that the scheduler gives to others. */
static void give_away(long nanoseconds) {
#if defined(__x86_64__)
  const long duration[2] = {0, nanoseconds};
  system_call(35, (long)duration, 0, 0);
#else
  (void)nanoseconds;
#endif
}

static int64_t deep(int64_t depth) {
  volatile char frame[4096];
  frame[depth % 4096] = 1;
  return deep(depth + 1) + frame[0];
}

static void run(const lathe_runtime* runtime, void* const* tensors, void* constants,
                void* workspace, void* workers) {
  const float *a = tensors[0], *b = tensors[1];
  float* c = tensors[2];
  (void)runtime, (void)constants, (void)workers;
  ++runs;
  switch (KIND) {
    case REFERENCE: reference(tensors[0], tensors[1], tensors[2], tensors[3]); return;
    case WRONG_REFERENCE: /* as WRONG is */
      reference(tensors[0], tensors[1], tensors[2], tensors[3]);
      ((double*)tensors[2])[5 * N + 7] += 0.01;
      return;
    case BLIND_REFERENCE:
      reference(tensors[0], tensors[1], tensors[2], tensors[3]);
      for (int i = 0; i < M * N; ++i) ((double*)tensors[3])[i] = 1.0 / 0.0;
      return;
    case SLOW:
      for (int i = 0; i < 20000; ++i) sink += i;
      break;
    case SLEEPY: give_away(20000000); break;
    case DOZING:
      for (int i = 0; i < 100000; ++i) sink += i;
      if (runs % 40 == 0) give_away(20000000);
      break;
    case CRASH: *(volatile int*)8 = 1; break;
    case HANG:
      for (;;) sink += 1;
    case HANG_LATER:
      while (runs > 1) sink += 1;
      break;
    case EXIT: system_call(231, 5, 0, 0); break;
    case OVERRUN:
      matmul(a, b, c);
      c[M * N] = 1;
      return;
    case FAR_OVERRUN:
      matmul(a, b, c);
      ((volatile float*)c)[M * N + 64] = 1;
      return;
    case WRITE_INPUT: ((volatile float*)a)[3] = 1; break;
    case WRONG:
      matmul(a, b, c);
      c[5 * N + 7] += 0.01f;
      return;
    case PARTIAL:
      matmul(a, b, c);
      c[12] = ((const float*)workspace)[0];
      return;
    case OVERFLOW_STACK: sink += deep(0); break;
    case ILLEGAL: __builtin_trap();
    case GARBAGE: system_call(1, 3, (long)"Segmentation fault\nnot a message at all\n", 40); break;
    default: break;
  }
  matmul(a, b, c);
}

static void prepare(const lathe_runtime* runtime, void* const* tensors, void* constants,
                    void* workspace, void* workers) {
  (void)runtime, (void)tensors, (void)workspace, (void)workers;
  ((volatile char*)constants)[64] = 1;
}

__attribute__((visibility("default")))
const lathe_module lathe_module_object __asm__(LATHE_MODULE_SYMBOL) = {
    KIND == OTHER_ABI ? LATHE_MODULE_ABI + 1 : LATHE_MODULE_ABI,
    2,
    KIND == REFERENCE || KIND == WRONG_REFERENCE || KIND == BLIND_REFERENCE ? 2 : 1,
    KIND == BAD_PREPARE ? 64 : 0,
    KIND == HOG ? (int64_t)1 << 42 : 64,
    0,
    KIND == BAD_PREPARE ? prepare : NULL,
    run,
};
