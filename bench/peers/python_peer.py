#!/usr/bin/env python3
"""A line of PyTorch or NumPy as a contestant (bench/README.md).

`setup` has `library` (`torch` or `numpy`), `inputs` (shapes by name), `code` (an expression of
them), `threads` and `cache`. Inputs are f32, uniform in [-1, 1]. The result is a new array every
time, as its users get it.
"""

import json
import statistics
import sys
import time


def computation(setup):
    """The call, and what made it."""
    import numpy

    random = numpy.random.default_rng(1)
    arrays = {name: random.uniform(-1, 1, shape).astype(numpy.float32)
              for name, shape in setup["inputs"].items()}
    if setup["library"] == "numpy":
        return (eval(f"lambda: {setup['code']}", {"np": numpy, **arrays}),
                f"numpy {numpy.__version__}")
    import torch

    torch.set_num_threads(setup["threads"])
    torch.set_grad_enabled(False)
    names = {"torch": torch, "F": torch.nn.functional}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return eval(f"lambda: {setup['code']}", {**names, **tensors}), f"torch {torch.__version__}"


def warm(call, seconds):
    call()  # brings it back into the caches after the others' turns
    begin = time.perf_counter()
    call()
    calls, elapsed = 1, time.perf_counter() - begin
    while elapsed < seconds:
        # so many at once that the clock is not what is timed
        more = max(1, int(0.25 * seconds / (elapsed / calls)))
        for _ in range(more):
            call()
        calls += more
        elapsed = time.perf_counter() - begin
    return elapsed / calls


def cold(call, seconds, memory):
    times = []
    while sum(times) < seconds:
        memory += 1
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main():
    call = memory = None
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "quit":
                return
            if word == "setup":
                setup = json.loads(rest)
                call, detail = computation(setup)
                call()
                if setup.get("cache") == "cold":
                    import numpy

                    memory = numpy.zeros(96 << 20, numpy.uint8)
                print("ready", detail, flush=True)
            elif word == "run" and call:
                seconds = float(rest)
                print(warm(call, seconds) if memory is None else cold(call, seconds, memory),
                      flush=True)
            else:
                print("error expected setup JSON, then run SECONDS, or quit", flush=True)
        except Exception as error:  # its sentence belongs to who asked
            print("error", " ".join(str(error).split()), flush=True)


main()
