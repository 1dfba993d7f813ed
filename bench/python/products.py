#!/usr/bin/env python3
"""Products of matrices under `numerics` `local` (Strassen's algorithm is not allowed) against MKL,
which PyTorch calls, and NumPy's OpenBLAS. Each library has a process of its own; they take turns.

Usage: products.py [THREADS [SECONDS-OF-TUNING]]   (default 2 threads, 30 seconds)
"""

import os
import statistics
import subprocess
import sys
import time

SIZES = [(512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (3000, 3000, 3000)]
LIBRARIES = ("lathe", "torch", "numpy")
ROUNDS, TURN = 15, 0.5


def call_of(library, size, threads, seconds):
    """A function that computes one product into an array that stays."""
    import numpy as np

    n, m, k = size
    a = np.random.default_rng(1).random((n, k), "f4")
    b = np.random.default_rng(2).random((k, m), "f4")
    c = np.empty((n, m), "f4")
    if library == "numpy":
        return (lambda: np.matmul(a, b, out=c)), a, b, c
    if library == "torch":
        import torch

        torch.set_num_threads(threads)
        x, y, z = map(torch.from_numpy, (a, b, c))
        return (lambda: torch.mm(x, y, out=z)), a, b, c
    import lathe

    kernel = lathe.tune(
        "C[i,j] = sum(k) A[i,k] * B[k,j]", A=a.shape, B=b.shape, seconds=seconds, trials=100000,
        threads=threads, numerics="local", progress=False,
    )
    return (lambda: kernel(a, b, out=c)), a, b, c


def serve(library, size, threads, seconds):
    """Answers each line on standard input with the median seconds of a turn's calls."""
    call, a, b, c = call_of(library, size, threads, seconds)
    call()
    want = a[:4].astype("f8") @ b.astype("f8")
    assert abs(c[:4] - want).max() < 1e-4 * want.max()
    print("ready", flush=True)
    for _ in sys.stdin:
        times = []
        end = time.perf_counter() + TURN
        while time.perf_counter() < end or len(times) < 3:
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        print(statistics.median(times), flush=True)


def race(size, threads, seconds):
    """Median and least of the turns' medians, by library."""
    settings = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    workers = []
    for library in LIBRARIES:
        words = [sys.executable, __file__, "serve", library, *map(str, size), str(threads)]
        worker = subprocess.Popen(
            [*words, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **settings},
        )
        assert worker.stdout.readline() == "ready\n", library
        workers.append(worker)
    times = {library: [] for library in LIBRARIES}
    for _ in range(ROUNDS):
        for library, worker in zip(LIBRARIES, workers):
            print("run", file=worker.stdin, flush=True)
            times[library].append(float(worker.stdout.readline()))
    for worker in workers:
        worker.stdin.close()
        worker.wait()
    return {library: (statistics.median(of), min(of)) for library, of in times.items()}


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 30
    head = " ".join(f"{name:>8} {'least':>8}" for name in LIBRARIES)
    print(f"{threads} threads; ms       {head}  MKL/lathe  least")
    for size in SIZES:
        times = race(size, threads, seconds)
        cells = " ".join(f"{t * 1e3:8.2f} {least * 1e3:8.2f}" for t, least in times.values())
        (mine, least), (other, other_least) = times["lathe"], times["torch"]
        name = "x".join(map(str, size))
        print(f"{name:20} {cells}  {other / mine:9.2f} {other_least / least:6.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        n, m, k, threads = map(int, sys.argv[3:7])
        serve(sys.argv[2], (n, m, k), threads, float(sys.argv[7]))
    else:
        main()
