#!/usr/bin/env python3
"""Scans, and operators that look elements up or choose them, against PyTorch and NumPy: f32, one
thread, whole calls in turns.

Usage: lookups.py [--tune SECONDS] [--seconds S] [--only scans|lookups]
  --tune SECONDS  tunes each new program for so long; by default programs are those on record, else
                  the predicted ones
  --seconds S     of a race, default 3

A peer is the fastest of PyTorch's eager mode, Inductor and NumPy, of which each answer is compared.
A filter has no operator in PyTorch: it goes step by step over all rows at once. Inductor is not
asked for scans.
"""

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import lathe  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch.nn import functional  # noqa: E402
from turns import mean, row, seconds_of  # noqa: E402

RANDOM = np.random.default_rng(20261130)  # rows were listed before anything was measured


def drawn(*shape):
    return RANDOM.standard_normal(shape).astype("f4")


def places(most, *shape):
    return RANDOM.integers(0, most, shape)


def cumulative(shape, axis=-1):
    return (f"cumsum {shape} along {axis}", ("cumsum", {"input": shape, "axis": axis}),
            [drawn(*shape)], lambda x: torch.cumsum(x, axis), None,
            lambda x: np.cumsum(x, axis))  # fmt: skip


def running(shape, axis=-1):
    return (f"cummax {shape} along {axis}", ("cummax", {"input": shape, "axis": axis}),
            [drawn(*shape)], lambda x: torch.cummax(x, axis).values, None,
            lambda x: np.maximum.accumulate(x, axis))  # fmt: skip


def filtered(shape):
    def eager(x):
        y, state = torch.empty_like(x), torch.zeros(shape[0])
        for t in range(shape[1]):
            state = torch.add(x[:, t], state, alpha=0.9)
            y[:, t] = state
        return y

    return (f"filter {shape}", ("Y[i,t] = 0.9*Y[i,t - 1 else 0] + X[i,t]", {"X": shape}),
            [drawn(*shape)], eager, None, None)  # fmt: skip


def scans():
    return [
        cumulative((1, 1_000_000)), cumulative((64, 4000)), cumulative((1000, 100)),
        cumulative((512, 512), 0), running((1, 200_000)), running((64, 4000)),
        running((512, 512), 0), filtered((64, 1000)), filtered((1000, 200)), filtered((8, 5000)),
    ]  # fmt: skip


def gathered(shape, count, axis):
    x, i = drawn(*shape), places(shape[axis], count)

    def torchs(x, i):
        return torch.index_select(x, axis, i)

    return (f"gather {count} of {shape} along {axis}",
            ("gather", {"input": shape, "indices": (count,), "axis": axis}), [x, i],
            torchs, torchs, lambda x, i: np.take(x, i, axis))  # fmt: skip


def elements(shape, axis):
    x, i = drawn(*shape), places(shape[axis], *shape)
    return (f"gather_elements {shape} along {axis}",
            ("gather_elements", {"input": shape, "indices": shape, "axis": axis}), [x, i],
            lambda x, i: torch.gather(x, axis, i), lambda x, i: torch.gather(x, axis, i),
            lambda x, i: np.take_along_axis(x, i, axis))  # fmt: skip


def embedded(rows, width, words):
    t, i = drawn(rows, width), places(rows, *words)
    return (f"embedding {words} of {rows}x{width}",
            ("embedding", {"table": (rows, width), "indices": words}), [t, i],
            lambda t, i: functional.embedding(i, t), lambda t, i: functional.embedding(i, t),
            lambda t, i: t[i])  # fmt: skip


def bags(rows, width, words, kind):
    t, i = drawn(rows, width), places(rows, *words)

    def torchs(t, i):
        return functional.embedding_bag(i, t, mode=kind)

    return (f"bags {kind} {words} of {rows}x{width}",
            ("embedding", {"table": (rows, width), "indices": words, "bag": kind}), [t, i],
            torchs, torchs, lambda t, i: getattr(np, kind)(t[i], axis=1))  # fmt: skip


def resized(shape, size, mode):
    torch_mode = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}[mode]
    flags = {"input": shape, "size": size, "mode": mode}
    if mode == "nearest":
        flags.update(coordinates="asymmetric", rounding="floor")

    def torchs(x):
        return functional.interpolate(x, size, mode=torch_mode)

    return (f"resize {mode} {shape} to {size}", ("resize", flags), [drawn(*shape)], torchs, torchs,
            None)  # fmt: skip


def pooled(shape, windows, kind):
    def torchs(x):
        return getattr(functional, f"adaptive_{kind}_pool2d")(x, windows)

    return (f"adaptive {kind} {shape} to {windows}",
            (f"adaptive_{kind}_pool2d", {"input": shape, "windows": windows}),
            [drawn(*shape)], torchs, torchs, None)  # fmt: skip


def largest(shape, k):
    def torchs(x):
        return torch.topk(x, k).values

    return (f"top_k {k} of {shape}", ("top_k", {"input": shape, "k": k}), [drawn(*shape)],
            torchs, torchs,
            lambda x: -np.sort(np.partition(-x, k - 1, -1)[..., :k], -1))  # fmt: skip


def place(shape):
    return (f"argmax {shape}", ("argmax", {"input": shape, "axes": (-1,)}), [drawn(*shape)],
            lambda x: torch.argmax(x, -1), lambda x: torch.argmax(x, -1),
            lambda x: np.argmax(x, -1))  # fmt: skip


def lookups():
    return [
        gathered((10000, 64), 512, 0), gathered((100, 3000), 1000, 1),
        gathered((64, 56, 56), 16, 0), gathered((5000, 7), 3000, 0), elements((500, 300), 1),
        elements((300, 500), 0),
        embedded(30000, 768, (1, 128)), embedded(10000, 300, (16, 35)),
        embedded(50000, 32, (4096,)), embedded(1000, 1000, (3, 7)),
        bags(10000, 64, (128, 20), "sum"), bags(10000, 64, (128, 20), "mean"),
        bags(2000, 17, (64, 9), "max"),
        resized((1, 64, 56, 56), (112, 112), "nearest"),
        resized((1, 3, 224, 224), (112, 112), "nearest"),
        resized((1, 64, 28, 28), (56, 56), "linear"),
        resized((1, 3, 240, 320), (224, 224), "linear"),
        resized((4, 16, 33, 47), (50, 61), "linear"),
        resized((1, 3, 128, 128), (256, 256), "cubic"), resized((1, 8, 61, 61), (40, 40), "cubic"),
        pooled((1, 512, 7, 7), (1, 1), "avg"), pooled((1, 256, 13, 13), (6, 6), "avg"),
        pooled((1, 64, 55, 55), (7, 7), "max"), pooled((8, 32, 31, 31), (5, 5), "avg"),
        largest((1000,), 5), largest((64, 1000), 5), largest((16, 10000), 10),
        largest((300, 64), 8), place((64, 1000)), place((1, 50257)),
    ]  # fmt: skip


def alike(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-3 * max(1, np.abs(b).max()))


def race(case, args):
    name, (what, flags), arrays, eager, inductor, numpy = case
    make = dict(flags, threads=1)
    if args.tune:
        kernel = lathe.tune(what, **make, seconds=args.tune, progress=False)
    else:
        kernel = lathe.compile(what, **make)
    tensors = [torch.from_numpy(a) for a in arrays]
    calls = [lambda: kernel(*arrays), lambda: eager(*tensors)]
    if inductor:
        compiled = torch.compile(inductor)
        calls.append(lambda: compiled(*tensors))
    if numpy:
        calls.append(lambda: numpy(*arrays))
    got = calls[0]()
    got = got[0] if isinstance(got, tuple) else got
    for call in calls[1:]:
        assert alike(got, call()), f"{name}: answers differ"
    return row(name, seconds_of(calls, args.seconds))


def main():
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--tune", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", choices=("scans", "lookups"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    for title, cases in (("scans", scans), ("lookups", lookups)):
        if args.only in (None, title):
            print(f"{title + ', microseconds a call':38} {'lathe':>9} {'eager':>9}  others")
            with torch.no_grad():
                ratios = [race(case, args) for case in cases()]
            print(f"geometric mean {mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
