#!/usr/bin/env python3
"""lathe.einsum against NumPy's, PyTorch's and opt_einsum's, one thread, whole calls from Python.

Usage: einsum.py [SECONDS-OF-TUNING-A-CONTRACTION]   (default 5; 0: as predicted, untuned)
"""

import os
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import lathe  # noqa: E402
import numpy as np  # noqa: E402
import opt_einsum  # noqa: E402
import torch  # noqa: E402
from turns import mean, row, seconds_of  # noqa: E402

# Listed before anything was tuned.
CASES = [
    ("ac,abc->cb", (64, 256), (64, 7, 256)),
    ("nij,njk->nik", (1000, 7, 7), (1000, 7, 7)),
    ("nij,njk->nik", (200, 12, 40), (200, 40, 9)),
    ("bi,bij->bj", (128, 24), (128, 24, 24)),
    ("bi,bi->b", (512, 96), (512, 96)),
    ("bi,bj->bij", (64, 33), (64, 31)),
    ("ij,jk->ik", (17, 300), (300, 23)),
    ("ij,jk->ik", (8, 512), (512, 1000)),
    ("ij,kj->ik", (100, 64), (90, 64)),
    ("ij,j->i", (500, 700), (700,)),
    ("ij,ij->", (300, 400), (300, 400)),
    ("abc,bcd->ad", (20, 15, 16), (15, 16, 24)),
    ("abcd,bd->ac", (12, 10, 14, 9), (10, 9)),
    ("abcd,cdef->abef", (6, 7, 8, 9), (8, 9, 5, 6)),
    ("dbea,ec->abcd", (10, 11, 12, 13), (12, 14)),
    ("bhqd,bhkd->bhqk", (2, 4, 33, 16), (2, 4, 47, 16)),
    ("nchw,oc->nohw", (1, 24, 20, 20), (32, 24)),
    ("ijk,k->ij", (40, 50, 60), (60,)),
    ("ii,ij->j", (120, 120), (120, 80)),
    ("ij,jk,kl->il", (30, 40), (40, 50), (50, 20)),
    ("bi,ij,bj->b", (64, 40), (40, 40), (64, 40)),
    ("ai,bi,ci->abc", (12, 64), (13, 64), (14, 64)),
    ("ijk,il,jm,kn->lmn", (12, 13, 14), (12, 8), (13, 9), (14, 7)),
    ("abc,cd,de->abe", (9, 30, 32), (32, 33), (33, 8)),
]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    torch.set_num_threads(1)
    print(f"{'microseconds a call':38} {'lathe':>9} {'numpy':>9} {'torch':>9} {'opt_einsum':>9}")
    ratios = []
    for subscripts, *shapes in CASES:
        arrays = [np.random.default_rng(n).random(s, "f4") for n, s in enumerate(shapes)]
        tensors = [torch.from_numpy(a) for a in arrays]
        path = opt_einsum.contract_expression(subscripts, *shapes)
        if seconds > 0:
            with lathe.tuning(seconds=seconds, trials=100000, progress=False):
                lathe.einsum(subscripts, *arrays, threads=1)
        want = np.einsum(subscripts, *[a.astype("f8") for a in arrays], optimize=True)
        got = lathe.einsum(subscripts, *arrays, threads=1)
        assert np.allclose(got, want, rtol=1e-4, atol=1e-4 * abs(want).max()), subscripts
        times = seconds_of(
            [
                lambda: lathe.einsum(subscripts, *arrays, threads=1),
                lambda: np.einsum(subscripts, *arrays, optimize=True),
                lambda: torch.einsum(subscripts, *tensors),
                lambda: path(*arrays),
            ],
            1.5,
        )
        ratios.append(row(f"{subscripts} {'x'.join(map(str, shapes[0]))}", times))
    print(f"geometric mean {mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
