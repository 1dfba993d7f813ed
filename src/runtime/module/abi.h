/* The interface between generated code and whoever runs it: the runner process, the JIT of tests,
 * an exported artifact. It is plain C and has a version. Generated code allocates nothing and
 * imports nothing: it gets everything through arguments.
 *
 * A generated object exports one symbol, LATHE_MODULE_SYMBOL, of type lathe_module. In an artifact
 * that table stays hidden; the functions of the artifact's header are exported instead
 * (runtime/artifact). */
#ifndef LATHE_RUNTIME_MODULE_ABI_H_
#define LATHE_RUNTIME_MODULE_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_MODULE_SYMBOL "lathe_module"
#define LATHE_MODULE_ABI 2

/* Runs some iterations of a phase, begin ... end-1, on worker 0 <= worker < threads. No two calls
 * at a time have one worker. */
typedef void (*lathe_body)(void* context, int64_t begin, int64_t end, int64_t worker);

/* A phase of a parallel region: a loop over [0, count). */
typedef struct lathe_phase {
  lathe_body body;
  int64_t count;
} lathe_phase;

/* Runs the phases in turn, each when all iterations of the one before are done, and returns when
 * the last is done. All bodies get the same context. */
typedef struct lathe_runtime {
  void (*run_region)(void* self, const lathe_phase* phases, int64_t count, void* context);
  void* self;
} lathe_runtime;

/* prepare fills the constants area from the constant inputs (tensors[i] is null for the others); it
 * is NULL if there is nothing to prepare. run takes the tensors: inputs, then outputs, in declared
 * order. Constants, workspace and the workers' areas are 64-byte aligned; the workers' areas lie
 * one after the other, worker_bytes each, a multiple of 64. */
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
