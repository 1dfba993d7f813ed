"""A program called as its users do, for bench_called: called.py python|torch|c THREADS PAUSE
EXPRESSION, the pause in seconds before each call. It speaks the line protocol of ../README.md; a
turn's answer is the median call.

`torch` calls it on the threads of PyTorch, behind a function that uses all of them; `c` from a
program in C.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import lathe
import numpy

C_PROGRAM = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "called.h"

enum { kMost = 1 << 20 };
static double times[kMost];
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
static int order(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}
static DLTensor tensor(int ndim, int64_t* shape, float value) {
  int64_t count = 1;
  for (int d = 0; d < ndim; ++d) count *= shape[d];
  float* data = aligned_alloc(64, (size_t)(count * 4 + 127) / 64 * 64);
  for (int64_t i = 0; i < count; ++i) data[i] = value * (float)(i % 7 - 3);
  DLTensor t = {data, {kDLCPU, 0}, ndim, {kDLFloat, 32, 1}, shape, NULL, 0};
  return t;
}
int main(void) {
@TENSORS@
  lathe_called* handle;
  if (lathe_called_create(NULL, &handle) || lathe_called_prepare(handle, inputs)) return 1;
@CONSTANTS@
  puts("ready"), fflush(stdout);
  char line[64];
  double seconds;
  const double pause = @PAUSE@;
  while (fgets(line, sizeof line, stdin) && sscanf(line, "run %lf", &seconds) == 1) {
    int count = 0;
    for (const double end = now() + seconds; count < 3 || (now() < end && count < kMost);) {
      if (pause > 0) usleep((useconds_t)(pause * 1e6));
      const double begin = now();
      if (lathe_called_run(handle, inputs, outputs)) return 1;
      times[count++] = now() - begin;
    }
    qsort(times, count, sizeof times[0], order);
    printf("%.9e\n", times[count / 2]), fflush(stdout);
  }
  return 0;
}
"""


def c_text(kernel, pause):
    """The program in C for this kernel's tensors."""
    lines, constants = [], []
    for kind, tensors in (("inputs", kernel.inputs), ("outputs", kernel.outputs)):
        for i, tensor in enumerate(tensors):
            shape = ", ".join(map(str, tensor.shape)) or "1"
            lines.append(f"  static int64_t {kind}_{i}[] = {{{shape}}};")
            lines.append(f"  DLTensor {kind}_t{i} = tensor({len(tensor.shape)}, {kind}_{i}, 0.1f);")
            if tensor.constant:
                constants.append(f"  {kind}[{i}] = NULL;")
        names = ", ".join(f"&{kind}_t{i}" for i in range(len(tensors)))
        lines.append(f"  {'const ' if kind == 'inputs' else ''}DLTensor* {kind}[] = {{{names}}};")
    return (C_PROGRAM.replace("@TENSORS@", "\n".join(lines)).replace("@PAUSE@", str(pause))
            .replace("@CONSTANTS@", "\n".join(constants)))


def serve_c(kernel, pause):
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        kernel.save(at / "called.so")
        (at / "main.c").write_text(c_text(kernel, pause))
        subprocess.run(["cc", "-std=gnu11", "-O2", "main.c", "-o", "main", "./called.so"], cwd=at,
                       check=True)
        sys.exit(subprocess.run([at / "main"], cwd=at).returncode)


def serve(call, before):
    print("ready", flush=True)
    for line in sys.stdin:
        if not line.startswith("run "):
            break
        times = []
        end = time.perf_counter() + float(line.split()[1])
        while time.perf_counter() < end or len(times) < 3:
            before()
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        print(f"{statistics.median(times):.9e}", flush=True)


def main():
    kind, threads, pause, words = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    before = (lambda: time.sleep(pause)) if pause else (lambda: None)
    if kind == "torch":
        import torch

        # Two threads of PyTorch share this much; it leaves the caches to the program.
        other = torch.rand(1 << 16)
        rest = before

        def before():
            rest()
            torch.sqrt(other, out=other)

        before()
    kernel = lathe.compile(words, schedule="default", threads=threads, check=False)
    if kind == "c":
        serve_c(kernel, pause)
    if kind == "torch":
        kernel._use_threads_of_torch()  # as the backend of torch.compile does
    random = numpy.random.default_rng(0)
    inputs = [random.random(tensor.shape, dtype="f4") - 0.5 for tensor in kernel.inputs]
    out = kernel(*inputs)
    given = {tensor.name: array for tensor, array in zip(kernel.inputs, inputs)
             if not tensor.constant}
    serve(lambda: kernel(**given, out=out), before)


if __name__ == "__main__":
    main()
