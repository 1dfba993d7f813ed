"""Convolutions by NumPy in f64, what programs may be off, and random ones."""

import itertools
import random

import lathe
import numpy as np
from support import floats


def bound(terms: int, sizes: np.ndarray) -> np.ndarray:
    """Eight times what roundings of a sum of so many terms, of these sizes in all, may come to."""
    return 8 * (8 + np.sqrt(terms)) * 2 * 2.0**-24 * sizes


class Convolution:
    """Its input, weight and geometry, and how a program for it is compiled."""

    def __init__(self, x: np.ndarray, w: np.ndarray, how: dict, groups: int = 1,
                 **geometry: list[int]) -> None:
        self.x, self.w, self.how, self.groups = x, w, how, groups
        self.rank = rank = x.ndim - 2
        self.stride = geometry.get("stride", [1] * rank)
        self.pad = geometry.get("pad", [0] * rank)
        self.dilation = geometry.get("dilation", [1] * rank)
        self.flags = {"input": x.shape, "weight": w.shape, "stride": tuple(self.stride),
                      "pad": tuple(self.pad), "dilation": tuple(self.dilation), "groups": groups}

    def kernel(self) -> lathe.Kernel:
        how = dict(self.how)
        try:
            return lathe.compile(f"conv{self.rank}d", **self.flags, **how, check=False)
        except lathe.InvalidArgument:
            if not how.pop("algorithm", None):
                raise
            return lathe.compile(f"conv{self.rank}d", **self.flags, **how, check=False)

    def expected(self, level: str) -> tuple[np.ndarray, np.ndarray]:
        x, w = self.x.astype("f8"), self.w.astype("f8")
        sizes, growth = np.abs(x), 1.0
        if level == "local":
            sizes = self.largest_around(sizes)
            channels = w.shape[1]
            growth = max(1.0, 2e-5 / (1.8e-6 * (channels / 128) ** 0.2))
        else:
            sizes = self.padded(sizes)
        allowed = bound(int(np.prod(w.shape[1:])), self.summed(sizes, np.abs(w)))
        return self.summed(self.padded(x), w), growth * allowed

    def padded(self, x: np.ndarray) -> np.ndarray:
        return np.pad(x, [(0, 0), (0, 0)] + [(pad, pad) for pad in self.pad])

    def outputs(self) -> list[int]:
        given = zip(self.x.shape[2:], self.w.shape[2:], self.stride, self.pad, self.dilation)
        return [(size + 2 * pad - d * (t - 1) - 1) // step + 1 for size, t, step, pad, d in given]

    def largest_around(self, x: np.ndarray) -> np.ndarray:
        """The largest element that a tile of up to six results along each axis reads, too."""
        out = self.padded(x)
        for n, results in enumerate(self.outputs()):
            step = self.dilation[n] // np.gcd(self.stride[n], self.dilation[n])
            apart = (min(6, -(-results // step)) - 1) * self.stride[n] * step
            reach = int(apart + 1 + self.dilation[n] * (self.w.shape[2 + n] - 1))
            wide = np.pad(out, [(reach, reach) if d == n + 2 else (0, 0) for d in range(out.ndim)])
            windows = np.lib.stride_tricks.sliding_window_view(wide, 2 * reach + 1, n + 2)
            out = windows.max(-1)
        return out

    def summed(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        groups, sizes = self.groups, self.outputs()
        x = x.reshape(len(x), groups, -1, *x.shape[2:])
        w = w.reshape(groups, -1, *w.shape[1:])
        out = np.zeros((len(x), groups, w.shape[1], *sizes))
        for tap in itertools.product(*map(range, w.shape[3:])):
            places = tuple(
                slice(d * t, d * t + (size - 1) * step + 1, step)
                for t, d, size, step in zip(tap, self.dilation, sizes, self.stride)
            )
            out += np.einsum("ngc...,goc->ngo...", x[(..., *places)], w[(..., *tap)])
        return out.reshape(len(x), -1, *sizes)


_TILES = ("cook_toom", "F2", "F4", "F6", "F2x2", "F4x4", "F6x6")


def random_convolution(chance: random.Random) -> Convolution:
    tiled = chance.random() < 0.4  # of a kind for which there are Cook-Toom algorithms
    rank = chance.choice([1, 2, 2] if tiled else [1, 2, 2, 3])
    groups = 1 if tiled else chance.choice([1, 1, 2])
    stride = [chance.choice([1, 1, 1, 2, 3]) for _ in range(rank)]
    dilation = [chance.choice([1, 1, 1, 2]) for _ in range(rank)]
    taps = [chance.choice([2, 3, 3, 5] if tiled else [1, 2, 3, 5]) for _ in range(rank)]
    pad = [chance.randint(0, t // 2 + 1) for t in taps]
    most = {1: 60, 2: 20, 3: 7}[rank]
    sizes = [d * (t - 1) + 1 + chance.randint(0, most) for d, t in zip(dilation, taps)]
    channels = [16, 32, 48] if tiled else [1, 3, 8, 16, 33]
    ins, outs = (groups * chance.choice(channels) for _ in range(2))
    seed = chance.randrange(1 << 30)
    x = floats(chance.choice([1, 2, 3]), ins, *sizes, seed=seed)
    w = floats(outs, ins // groups, *taps, seed=seed + 1)
    how = chance.choice([{}, {}, {"schedule": "default"}, {"numerics": "componentwise"}])
    if tiled and chance.random() < 0.7:
        how = {"algorithm": chance.choice(_TILES), "schedule": "default"}
    return Convolution(x, w, how, groups, stride=stride, pad=pad, dilation=dilation)
