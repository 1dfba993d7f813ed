/* Runs a generated library on a machine (or an emulator) of its own: driver LIBRARY IN OUT.
 * IN: counts of inputs and outputs, then bytes and a constant flag for each tensor, then the
 * inputs' bytes. OUT: the outputs' bytes. Loops run in slices of uneven lengths on three workers.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/module/abi.h"

enum { kWorkers = 3, kMaxTensors = 64 };

static void slices(void* self, const lathe_phase* phases, int64_t count, void* context) {
  int64_t p;
  (void)self;
  for (p = 0; p < count; ++p) {
    int64_t end = phases[p].count, length = 1, worker = 0;
    for (; end > 0; ++length) {
      const int64_t begin = end > length ? end - length : 0;
      phases[p].body(context, begin, end, worker++ % kWorkers);
      end = begin;
    }
  }
}

static void* area(int64_t bytes, int fill) {
  const size_t size = ((size_t)bytes + 127) / 64 * 64;
  void* memory = aligned_alloc(64, size);
  if (memory) memset(memory, fill, size);
  return memory;
}

int main(int argc, char** argv) {
  int64_t counts[2], sizes[kMaxTensors][2];
  void *tensors[kMaxTensors], *constants[kMaxTensors];
  const lathe_runtime runtime = {slices, NULL};
  FILE *in, *out;
  void *library, *fixed, *workspace, *workers;
  const lathe_module* module;
  int64_t i, total;
  if (argc != 4) return 2;
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  module = (const lathe_module*)dlsym(library, LATHE_MODULE_SYMBOL);
  in = fopen(argv[2], "rb");
  out = fopen(argv[3], "wb");
  if (!module || module->abi != LATHE_MODULE_ABI || !in || !out) return 4;
  if (fread(counts, sizeof counts, 1, in) != 1) return 5;
  total = counts[0] + counts[1];
  if (total > kMaxTensors || counts[0] != module->inputs || counts[1] != module->outputs) return 6;
  if (fread(sizes, sizeof sizes[0], (size_t)total, in) != (size_t)total) return 5;
  for (i = 0; i < total; ++i) {
    tensors[i] = area(sizes[i][0], 0xff);
    constants[i] = sizes[i][1] ? tensors[i] : NULL;
    if (i < counts[0] && fread(tensors[i], 1, (size_t)sizes[i][0], in) != (size_t)sizes[i][0])
      return 5;
  }
  fixed = area(module->constant_bytes, 0xff);
  workspace = area(module->workspace_bytes, 0xff);
  workers = area(module->worker_bytes * kWorkers, 0xff);
  if (module->prepare) module->prepare(&runtime, constants, fixed, workspace, workers);
  module->run(&runtime, tensors, fixed, workspace, workers);
  for (i = counts[0]; i < total; ++i)
    if (fwrite(tensors[i], 1, (size_t)sizes[i][0], out) != (size_t)sizes[i][0]) return 7;
  return fclose(out) == 0 ? 0 : 7;
}
