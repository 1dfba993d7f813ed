/* The interface between generated code and whoever runs it: the runner process, the JIT of tests,
 * the shipped artifact. Plain C, versioned, no allocation, no imports: generated code gets
 * everything it needs through arguments.
 *
 * A generated object exports one symbol, LATHE_MODULE_SYMBOL, of type lathe_module. One that is an
 * artifact keeps its table to itself and exports the functions of its header (runtime/artifact). */
#ifndef LATHE_RUNTIME_MODULE_ABI_H_
#define LATHE_RUNTIME_MODULE_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_MODULE_SYMBOL "lathe_module"
#define LATHE_MODULE_ABI 1

/* One slice of a parallel loop: iterations begin ... end-1, on worker 0 <= worker < threads. */
typedef void (*lathe_body)(void* context, int64_t begin, int64_t end, int64_t worker);

/* Runs body over [0, count), returns when all of it is done. */
typedef struct lathe_runtime {
  void (*parallel_for)(void* self, int64_t count, lathe_body body, void* context);
  void* self;
} lathe_runtime;

/* prepare: fills the constants area from the constant inputs (tensors[i] null for the others). NULL
 * if there is nothing to prepare. run: tensors are inputs then outputs, in declared order.
 * Constants, workspace and the workers' areas (worker_bytes each, one after the other, each a
 * multiple of 64) are 64-byte aligned. */
typedef void (*lathe_entry)(const lathe_runtime* runtime, void* const* tensors, void* constants,
                            void* workspace, void* workers);

typedef struct lathe_module {
  int64_t abi;             /* LATHE_MODULE_ABI */
  int64_t inputs, outputs; /* counts */
  int64_t constant_bytes, workspace_bytes, worker_bytes;
  lathe_entry prepare; /* may be NULL */
  lathe_entry run;
} lathe_module;

#ifdef __cplusplus
}
#endif
#endif
