#!/usr/bin/env python3
"""What a call of a kernel costs beside the program itself: three arrays of 16 numbers.

Usage: calls.py   (PyTorch's tensors too, where it is installed)
"""

import time

begin = time.perf_counter()
import lathe  # noqa: E402

imported = time.perf_counter() - begin

import numpy as np  # noqa: E402
from turns import seconds_of  # noqa: E402


def main():
    kernel = lathe.compile("C[i] = A[i] + B[i]", A=(16,), B=(16,), threads=1)
    a, b, c = (np.ones(16, "f4") for _ in "abc")
    calls = {"NumPy, out=": lambda: kernel(a, b, out=c), "NumPy": lambda: kernel(a, b)}
    try:
        import torch

        x, y, z = (torch.ones(16) for _ in "xyz")
        calls["PyTorch, out="] = lambda: kernel(x, y, out=z)
        calls["PyTorch"] = lambda: kernel(x, y)
    except ImportError:
        pass
    times = seconds_of(list(calls.values()), 5)
    alone = kernel.time(a, b)
    print(f"import lathe {imported * 1e3:.0f} ms; the call in C {alone * 1e9:.0f} ns")
    for name, (median, _) in zip(calls, times):
        print(f"{name:14} {(median - alone) * 1e9:5.0f} ns more")


if __name__ == "__main__":
    main()
