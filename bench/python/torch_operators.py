#!/usr/bin/env python3
"""Operators that libraries neglect, inside torch.compile: backend "lathe" against Inductor with
frozen weights, one thread, whole calls.

Usage: torch_operators.py [SECONDS-OF-TUNING-AN-OPERATOR]   (default 20; 0: as predicted)
"""

import sys

import lathe.torch
import torch
from torch import nn
from turns import mean, row, seconds_of

# Listed before anything was tuned.
CASES = [
    ("conv 7x7, 16 to 32, 28x28", nn.Conv2d(16, 32, 7, padding=3), (1, 16, 28, 28), nn.ReLU()),
    ("conv 5x5, 32 to 32, 14x14", nn.Conv2d(32, 32, 5, padding=2), (1, 32, 14, 14), nn.ReLU()),
    ("conv 1x7, 24 to 24, 17x17", nn.Conv2d(24, 24, (1, 7), padding=(0, 3)), (1, 24, 17, 17),
     nn.ReLU()),
    ("conv 3x3, 4 groups, 64, 14x14", nn.Conv2d(64, 64, 3, padding=1, groups=4), (1, 64, 14, 14),
     nn.SiLU()),
    ("depthwise 7x7, 96, 28x28", nn.Conv2d(96, 96, 7, padding=3, groups=96), (1, 96, 28, 28),
     nn.Identity()),
    ("depthwise 5x5 stride 2, 72, 56x56", nn.Conv2d(72, 72, 5, 2, 2, groups=72), (1, 72, 56, 56),
     nn.Hardswish()),
    ("conv 3x3 dilated by 2, 32, 20x20", nn.Conv2d(32, 32, 3, padding=2, dilation=2),
     (1, 32, 20, 20), nn.ReLU()),
    ("conv1d 9, 16 to 16, 400", nn.Conv1d(16, 16, 9, padding=4), (1, 16, 400), nn.Tanh()),
    ("transposed conv 4x4, 32 to 16, 16x16", nn.ConvTranspose2d(32, 16, 4, 2, 1), (1, 32, 16, 16),
     nn.ReLU()),
    ("dense 8x512 to 1000", nn.Linear(512, 1000), (8, 512), nn.ReLU()),
    ("dense 3x200 to 48", nn.Linear(200, 48), (3, 200), nn.GELU()),
    ("dense 64x40 to 24", nn.Linear(40, 24), (64, 40), nn.Sigmoid()),
]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print(f"{'microseconds a call':38} {'lathe':>9} {'inductor':>9}")
    ratios = []
    for name, layer, shape, follow in CASES:
        model, x = nn.Sequential(layer, follow).eval(), torch.rand(*shape)
        if seconds > 0:
            lathe.torch.tune(model, x, seconds=seconds, progress=False)
        with torch.no_grad():
            torch._dynamo.reset()
            ours = torch.compile(model, backend=lathe.torch.backend)
            difference = (ours(x) - model(x)).abs().max().item()
            assert difference < 1e-4 * model(x).abs().max().item(), name
            with torch._inductor.config.patch(freezing=True):
                theirs = torch.compile(nn.Sequential(layer, follow).eval())
                theirs(x)
            ratios.append(row(name, seconds_of([lambda: ours(x), lambda: theirs(x)], 2)))
    print(f"geometric mean {mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
