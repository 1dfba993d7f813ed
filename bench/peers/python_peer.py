#!/usr/bin/env python3
"""A line of Python for PyTorch, NumPy, ONNX Runtime or OpenVINO as a contestant
(docs/benchmarks.md).

`setup` has `library` (of python_libraries.py), `inputs` (shapes by name), `constants` (names of
those known beforehand), `code` (an expression of the inputs), `threads` and `cache`. Inputs are
f32, uniform in [-1, 1]. `save FILE` writes the result of a call as f64 and answers how many
elements it has.
"""

import json
import statistics
import sys
import time

import numpy

from python_libraries import LIBRARIES


def input_arrays(setup):
    """The same for every library."""
    random = numpy.random.default_rng(1)
    return {name: random.uniform(-1, 1, shape).astype(numpy.float32)
            for name, shape in setup["inputs"].items()}


def save(call, path):
    result = numpy.ascontiguousarray(call(), numpy.float64)
    result.tofile(path)
    return result.size


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
                call, detail = LIBRARIES[setup["library"]](setup, input_arrays(setup))
                call()
                if setup.get("cache") == "cold":
                    memory = numpy.zeros(96 << 20, numpy.uint8)
                print("ready", detail, flush=True)
            elif word == "save" and call:
                print(save(call, rest), flush=True)
            elif word == "run" and call:
                seconds = float(rest)
                print(warm(call, seconds) if memory is None else cold(call, seconds, memory),
                      flush=True)
            else:
                print("error expected setup JSON, then run SECONDS, save FILE or quit", flush=True)
        except Exception as error:  # its sentence belongs to who asked
            print("error", " ".join(str(error).split()), flush=True)


if __name__ == "__main__":
    main()
