/* What an exported library for a device of OpenCL contains instead of machine code: the text of its
 * kernels, and what is launched of it (runtime/device/opencl/image.h). Its functions
 * lathe_NAME_create, _prepare, _run, _destroy and _message call those of artifact.h with this
 * table, lathe_NAME_create_on and _run_on the two below. */
#ifndef LATHE_RUNTIME_ARTIFACT_OPENCL_PROGRAM_H_
#define LATHE_RUNTIME_ARTIFACT_OPENCL_PROGRAM_H_

#include <stdint.h>

#include "runtime/artifact/artifact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that a kernel gets as a pointer. */
enum { LATHE_AREA_INPUT, LATHE_AREA_OUTPUT, LATHE_AREA_CONSTANT, LATHE_AREA_SCRATCH };

typedef struct lathe_opencl_launch {
  const char* kernel;
  const int64_t* arguments; /* pairs: an area, and a position among the inputs or outputs */
  int64_t count;            /* of pairs */
  int64_t groups[3], items[3];
} lathe_opencl_launch;

typedef struct lathe_opencl_program {
  /* Its module has the counts of tensors, and as constants and workspace the bytes of the areas on
   * the device; it has no functions. */
  lathe_artifact artifact;
  const char *source, *options;
  const char* const* extensions; /* that the source enables; ends with null */
  int64_t local_bytes;
  const lathe_opencl_launch* launches; /* those of prepare, then those of run */
  int64_t prepare, run;                /* counts */
} lathe_opencl_program;

/* On a context and an in-order queue of the caller; a null context is the queue's. */
int32_t lathe_artifact_opencl_create_on(const lathe_artifact* artifact, void* context, void* queue,
                                        lathe_handle** handle);
/* Gives the kernels to a queue, null: the handle's, and does not wait. */
int32_t lathe_artifact_opencl_run_on(lathe_handle* handle, void* const* inputs,
                                     void* const* outputs, void* queue);

#ifdef __cplusplus
}
#endif
#endif
