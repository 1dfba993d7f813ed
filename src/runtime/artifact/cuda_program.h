/* What an exported library for a card of NVIDIA contains instead of machine code of a processor:
 * the PTX of its kernels, what an assembler made of it, and what is launched
 * (runtime/device/cuda/image.h). Its functions lathe_NAME_create, _destroy and _message call those
 * of artifact.h with this table, lathe_NAME_prepare and _run the two below. */
#ifndef LATHE_RUNTIME_ARTIFACT_CUDA_PROGRAM_H_
#define LATHE_RUNTIME_ARTIFACT_CUDA_PROGRAM_H_

#include <stdint.h>

#include "runtime/artifact/device_program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Machine code for cards of one architecture. */
typedef struct lathe_cuda_code {
  int64_t architecture; /* 80 for sm_80 */
  const void* bytes;    /* they tell their length themselves */
} lathe_cuda_code;

typedef struct lathe_cuda_program {
  lathe_device_program program;
  int64_t architecture; /* that the PTX is for; later ones run it, too */
  const char* ptx;
  const lathe_cuda_code* codes;
  int64_t count; /* of codes */
} lathe_cuda_program;

/* Tensors are on the card; constants may be in the processor's memory instead. Waits for the
 * stream. */
int32_t lathe_artifact_cuda_prepare(lathe_handle* handle, const DLTensor* const* inputs,
                                    void* stream);
/* Gives the kernels to the stream, and does not wait. */
int32_t lathe_artifact_cuda_run(lathe_handle* handle, const DLTensor* const* inputs,
                                DLTensor* const* outputs, void* stream);

#ifdef __cplusplus
}
#endif
#endif
