"""Programs that were made by hand, before Lathe made any for cards: the fastest of a search over
generated CUDA C on an H200, compiled to PTX by clang 19. winners/winners.json says what is launched
of each; `made(card, tell, until)` checks and times them."""

import json
import pathlib
import random
import time
from array import array

from card import CardError

FOLDER = pathlib.Path(__file__).resolve().parent / "winners"
CHECKED = 48  # elements of each output that are computed again


def random_floats(count, seed):
    draw = random.Random(seed).random
    return array("f", (2 * draw() - 1 for _ in range(count)))


def packed(weights, channels, results, taps, block):
    """[results][channels][taps] as [results / block][channels][taps][block]."""
    out = array("f", bytes(4 * len(weights)))
    step = channels * taps
    for o in range(results):
        base = (o // block) * step * block + o % block
        out[base:base + step * block:block] = weights[o * step:(o + 1) * step]
    return out


class Convolution:
    """Y[o, y, x] = sum X[c, ...] * W[o, c, ...] of a square image, padded to keep its size."""

    def __init__(self, image, channels, results, size, stride):
        self.image, self.channels, self.results = image, channels, results
        self.size, self.stride, self.pad = size, stride, size // 2
        self.out = (image + 2 * self.pad - size) // stride + 1
        self.sizes = (channels * image * image, results * channels * size * size,
                      results * self.out * self.out)
        self.flops = 2.0 * self.sizes[2] * channels * size * size

    def element(self, x, w, index):
        o, rest = divmod(index, self.out * self.out)
        row, column = divmod(rest, self.out)
        total = 0.0
        for c in range(self.channels):
            for r in range(self.size):
                at_row = row * self.stride + r - self.pad
                if not 0 <= at_row < self.image:
                    continue
                for s in range(self.size):
                    at = column * self.stride + s - self.pad
                    if 0 <= at < self.image:
                        total += (x[(c * self.image + at_row) * self.image + at]
                                  * w[((o * self.channels + c) * self.size + r) * self.size + s])
        return total

    def packed(self, weights, block):
        return packed(weights, self.channels, self.results, self.size * self.size, block)


class Product:
    """Y = W X, all of them square."""

    def __init__(self, size):
        self.size = size
        self.sizes = (size * size,) * 3
        self.flops = 2.0 * size ** 3

    def element(self, x, w, index):
        row, column = divmod(index, self.size)
        return sum(w[row * self.size + k] * x[k * self.size + column] for k in range(self.size))

    @staticmethod
    def packed(weights, _):
        return weights


def made(card, tell, until):
    for winner in json.loads((FOLDER / "winners.json").read_text(encoding="utf-8")):
        if time.time() > until:
            tell(row=winner["row"], error="no time was left for it")
            continue
        try:
            tell(row=winner["row"], contestant="by hand", **measured(card, winner))
        except CardError as error:
            tell(row=winner["row"], contestant="by hand", error=str(error))


def measured(card, winner):
    shape = winner["shape"]
    workload = Product(*shape) if len(shape) == 1 else Convolution(*shape)
    x, w = random_floats(workload.sizes[0], 1), random_floats(workload.sizes[1], 2)
    places = {"x": card.copied(x), "w": card.copied(workload.packed(w, winner["block"])),
              "y": card.memory(4 * workload.sizes[2]), "ws": card.memory(winner["scratch"])}
    module = card.module((FOLDER / winner["ptx"]).read_text(encoding="ascii"))
    launches = [(card.kernel(module, name, shared), grid, block, [places[a] for a in names], shared)
                for name, grid, block, shared, names in winner["launches"]]

    def run():
        for launch in launches:
            card.launch(*launch)

    run()
    got = card.get(places["y"], workload.sizes[2])
    chosen = random.Random(3).sample(range(workload.sizes[2]), min(CHECKED, workload.sizes[2]))
    wanted = [workload.element(x, w, index) for index in chosen]
    largest = max(abs(value) for value in wanted)
    error = max(abs(got[index] - value) if got[index] == got[index] else float("inf")
                for index, value in zip(chosen, wanted)) / largest
    seconds = card.chain_seconds(run)
    return {"median": seconds, "flops": workload.flops / seconds, "error": error,
            "wrong": not error < 2e-5, **card.resources(launches[0][0])}
