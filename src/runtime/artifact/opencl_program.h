/* What an exported library for a device of OpenCL contains instead of machine code: the text of its
 * kernels, and what is launched of it (runtime/device/opencl/image.h). Its functions
 * lathe_NAME_create, _prepare, _run, _destroy and _message call those of artifact.h with this
 * table, lathe_NAME_create_on and _run_on the two below. */
#ifndef LATHE_RUNTIME_ARTIFACT_OPENCL_PROGRAM_H_
#define LATHE_RUNTIME_ARTIFACT_OPENCL_PROGRAM_H_

#include <stdint.h>

#include "runtime/artifact/device_program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lathe_opencl_program {
  lathe_device_program program;
  const char *source, *options;
  const char* const* extensions; /* that the source enables; ends with null */
  int64_t local_bytes;
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
