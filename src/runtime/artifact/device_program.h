/* What an exported library for a device contains in place of machine code of a processor, whatever
 * kind of device: what is launched of its kernels. The kernels are in opencl_program.h and
 * cuda_program.h. */
#ifndef LATHE_RUNTIME_ARTIFACT_DEVICE_PROGRAM_H_
#define LATHE_RUNTIME_ARTIFACT_DEVICE_PROGRAM_H_

#include <stdint.h>

#include "runtime/artifact/artifact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that a kernel gets as a pointer. */
enum { LATHE_AREA_INPUT, LATHE_AREA_OUTPUT, LATHE_AREA_CONSTANT, LATHE_AREA_SCRATCH };

typedef struct lathe_launch {
  const char* kernel;
  const int64_t* arguments; /* pairs: an area, and a position among the inputs or outputs */
  int64_t count;            /* of pairs */
  int64_t groups[3], items[3];
  int64_t group_bytes; /* of a group's memory, that the launch asks for */
} lathe_launch;

typedef struct lathe_device_program {
  /* Its module has the counts of tensors, and as constants and workspace the bytes of the areas on
   * the device; it has no functions. */
  lathe_artifact artifact;
  const lathe_launch* launches; /* those of prepare, then those of run */
  int64_t prepare, run;         /* counts */
} lathe_device_program;

#ifdef __cplusplus
}
#endif
#endif
