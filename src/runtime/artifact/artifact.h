/* What every exported artifact contains beside its generated code: handles, the checks of a
 * caller's tensors, memory, and the built-in thread pool. It needs libc only.
 *
 * A generated object has a table of type lathe_artifact. Its functions lathe_NAME_create, _prepare,
 * _run, _destroy and _message call the functions below with that table; the header that is written
 * beside an artifact declares them. So does __tvm_ffi_NAME, which programs find by that name. */
#ifndef LATHE_RUNTIME_ARTIFACT_ARTIFACT_H_
#define LATHE_RUNTIME_ARTIFACT_ARTIFACT_H_

#include <stdint.h>

#include <dlpack/dlpack.h>

#include "runtime/module/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the functions and types below, as the artifact's header has it. */
#define LATHE_ARTIFACT_ABI 1

enum {
  LATHE_OK = 0,
  /* A tensor or pointer does not fit; the message says which, and why. */
  LATHE_INVALID_ARGUMENT = 1,
  LATHE_OUT_OF_MEMORY = 2,
  LATHE_NOT_PREPARED = 3,  /* run before prepare */
  LATHE_WRONG_CPU = 4,     /* this processor lacks instructions the artifact uses */
  LATHE_NO_DEVICE = 5,     /* no device is there, or it cannot run the program (artifact/opencl) */
  LATHE_DEVICE_FAILED = 6, /* the device or its compiler refuses, or failed */
  LATHE_NO_WEIGHTS = 7     /* the file of weights is missing, or another one */
};

/* A caller's own way to run loops. parallel_for calls body for slices of [0, count), with worker
 * numbers below `threads`, and returns when all is done. */
typedef struct lathe_parallel {
  void (*parallel_for)(void* self, int64_t count, lathe_body body, void* context);
  void* self;
  int64_t threads;
} lathe_parallel;

/* Instructions of x86-64 that an artifact needs. */
enum {
  LATHE_CPU_AVX = 1,
  LATHE_CPU_AVX2 = 2,
  LATHE_CPU_FMA = 4,
  LATHE_CPU_F16C = 8,
  LATHE_CPU_AVX512 = 16,     /* F */
  LATHE_CPU_AVX512_SKX = 32, /* VL, BW, DQ */
  LATHE_CPU_BMI = 1 << 6,
  LATHE_CPU_BMI2 = 1 << 7,
  LATHE_CPU_LZCNT = 1 << 8,
  LATHE_CPU_MOVBE = 1 << 9,
  LATHE_CPU_AVX512_IFMA = 1 << 10,
  LATHE_CPU_AVX512_VBMI = 1 << 11,
  LATHE_CPU_AVX512_VBMI2 = 1 << 12,
  LATHE_CPU_AVX512_VNNI = 1 << 13,
  LATHE_CPU_AVX512_BITALG = 1 << 14,
  LATHE_CPU_AVX512_VPOPCNTDQ = 1 << 15,
  LATHE_CPU_AVX512_FP16 = 1 << 16,
  LATHE_CPU_AVX512_BF16 = 1 << 17
};

typedef struct lathe_artifact_tensor {
  const char* name;
  const int64_t* shape;
  int64_t ndim;
  int64_t type_code, type_bits; /* of DLDataType */
  int64_t bytes;                /* of storage */
  int64_t constant;             /* given to prepare() */
  int64_t plain;                /* row-major; else stored as the header says */
} lathe_artifact_tensor;

/* What all handles of an artifact share in a process, zeros at first (shared.h). */
typedef struct lathe_shared {
  uint32_t lock;   /* the process that has it; 0: none */
  int64_t handles; /* that use the constants */
  void* constants; /* NULL: they are not there */
  int64_t mapped;  /* bytes of a file, with its head; 0: the constants are in memory of their own */
} lathe_shared;

/* A kernel of prepare; or a literal that nothing reads after the kernels before; or neither: of the
 * constants, nothing reads what begins after so many bytes. */
typedef struct lathe_packing {
  lathe_entry kernel;
  const char* literal;
  int64_t bytes;
} lathe_packing;

/* A file beside the library that holds the constants (weights.h). */
typedef struct lathe_weights {
  const char* file; /* its name, without a folder */
  uint64_t hash;
} lathe_weights;

typedef struct lathe_artifact {
  const char* name;
  const lathe_module* module;
  const lathe_artifact_tensor* tensors; /* inputs, then outputs */
  int64_t threads;                      /* the code was tuned for */
  int64_t cpu;                          /* LATHE_CPU_... */
  lathe_shared* shared;                 /* NULL: each handle has constants of its own */
  const lathe_packing* packing;         /* of shared constants, in turn: what prepare does */
  int64_t packings;                     /* their count */
  const lathe_weights* weights;         /* NULL: the constants are packed in memory */
} lathe_artifact;

/* What a program that opens a library without its header finds in it, under LATHE_LIBRARY_SYMBOL:
 * the artifacts inside. Their functions are found by name. */
#define LATHE_LIBRARY_SYMBOL "lathe_library"
/* Of a library for a card, whose prepare and run take tensors on the card and a stream
 * (cuda_program.h). */
#define LATHE_CARD_ABI 2
typedef struct lathe_library {
  int64_t abi; /* LATHE_ARTIFACT_ABI or LATHE_CARD_ABI */
  int64_t count;
  const lathe_artifact* const* artifacts;
} lathe_library;

typedef struct lathe_handle lathe_handle;

int32_t lathe_artifact_create(const lathe_artifact* artifact, const lathe_parallel* parallel,
                              lathe_handle** handle);
/* Regions are run by `runtime`, which must live as long as the handle. Its worker numbers are below
 * the artifact's threads. */
int32_t lathe_artifact_create_on(const lathe_artifact* artifact, const lathe_runtime* runtime,
                                 lathe_handle** handle);
/* `weights` is the path of the file of weights; NULL: it is beside the library. It is not looked at
 * where another handle has the constants already. */
int32_t lathe_artifact_create_from(const lathe_artifact* artifact, const char* weights,
                                   const lathe_parallel* parallel, lathe_handle** handle);
int32_t lathe_artifact_prepare(lathe_handle* handle, const DLTensor* const* inputs);
int32_t lathe_artifact_run(lathe_handle* handle, const DLTensor* const* inputs,
                           DLTensor* const* outputs);
void lathe_artifact_destroy(lathe_handle* handle);
/* __tvm_ffi_NAME without the table (tvm_ffi.cpp): TVMFFIAny of inputs and outputs, 0 or -1. */
int32_t lathe_artifact_tvm_ffi(const lathe_artifact* artifact, void* self, const void* arguments,
                               int32_t count, void* result);
/* Says what went wrong in the last call that did not return LATHE_OK; valid until the next call.
 * A null handle asks about create. */
const char* lathe_artifact_message(const lathe_handle* handle);

#ifdef __cplusplus
}
#endif
#endif
