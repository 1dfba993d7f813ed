#!/usr/bin/env python3
"""lathe.einsum against np.einsum(optimize=True) on 200 random contractions of two to five operands,
f32, one thread, whole calls in turns.

Usage: contractions.py [--quick] [--tune SECONDS] [--list]
  --quick         every fifth contraction, for less time: less than 3 minutes in all
  --tune SECONDS  tunes each new program for so long, before its contraction is timed; by default
                  programs are those on record, else the predicted ones
  --list          says which contractions there are, and times none
"""

import argparse
import os
import random
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import lathe  # noqa: E402
import numpy as np  # noqa: E402
from turns import mean, seconds_of  # noqa: E402

SEED = 20261129  # drawn before anything was measured
COUNT = 200
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LEAST, MOST = 4e5, 4e8  # operations, for some 20 us to 20 ms of one thread
ELEMENTS = 2_000_000  # of an operand or the result, at most
SHORTEST, LONGEST = 20e-6, 20e-3


def drawn(draw):
    """Subscripts: each operand shares a letter or two with those before it."""
    letters = iter(LETTERS)
    terms = [[next(letters) for _ in range(draw.choice([1, 2, 2, 3, 3, 4]))]]
    for _ in range(draw.choice([2, 2, 3, 4, 5]) - 1):
        known = sorted({letter for term in terms for letter in term})
        term = draw.sample(known, min(len(known), draw.choice([1, 1, 2, 2, 3])))
        term += [next(letters) for _ in range(draw.choice([0, 1, 1, 2]))]
        draw.shuffle(term)
        terms.append(term)
    flat = [letter for term in terms for letter in term]
    result = [x for x in sorted(set(flat))
              if draw.random() < (0.85 if flat.count(x) == 1 else 0.2)]
    draw.shuffle(result)
    return ",".join(map("".join, terms)) + "->" + "".join(result)


def operations(subscripts, sizes):
    """The operations of the best order, by NumPy's count."""
    terms = subscripts.split("->")[0].split(",")
    views = [np.broadcast_to(np.float32(0), [sizes[x] for x in term]) for term in terms]
    report = np.einsum_path(subscripts, *views, optimize="optimal")[1]
    line = next(text for text in report.splitlines() if "Optimized FLOP" in text)
    return float(line.rpartition(":")[2])


def sized(draw, subscripts):
    """Lengths of all letters, for about as many operations as are drawn; None: there are none."""
    wanted = LEAST * (MOST / LEAST) ** draw.random()
    sizes = {x: draw.choice([2, 3, 4, 5, 7, 8]) for x in sorted(set(subscripts) - set(",->"))}
    for _ in range(200):
        if operations(subscripts, sizes) >= wanted:
            return sizes
        letter = draw.choice(sorted(sizes))
        sizes[letter] = sizes[letter] * draw.choice([5, 6, 7]) // 4 + 1
        for term in subscripts.replace("->", ",").split(","):
            if np.prod([sizes[x] for x in term], dtype=float) > ELEMENTS:
                return None
    return None


def contractions():
    draw = random.Random(SEED)
    found = []
    while len(found) < COUNT:
        subscripts = drawn(draw)
        sizes = sized(draw, subscripts)
        if sizes is not None:
            found.append((subscripts, sizes))
    return found


def named(subscripts, sizes):
    return f"{subscripts} {' '.join(f'{x}={size}' for x, size in sizes.items())}"


def measured(subscripts, sizes, tuning, budget):
    """Median seconds of a call of Lathe and of NumPy."""
    terms = subscripts.split("->")[0].split(",")
    arrays = [np.random.default_rng(n).random([sizes[x] for x in term], "f4") - np.float32(0.25)
              for n, term in enumerate(terms)]
    if tuning > 0:
        with lathe.tuning(seconds=tuning, trials=100_000, progress=False):
            lathe.einsum(subscripts, *arrays, threads=1)
    want = np.einsum(subscripts, *[a.astype("f8") for a in arrays], optimize=True)
    got = lathe.einsum(subscripts, *arrays, threads=1)
    bound = np.einsum(subscripts, *[abs(a).astype("f8") for a in arrays], optimize=True)
    assert np.all(abs(got - want) <= 1e-4 * bound), subscripts
    times = seconds_of([lambda: lathe.einsum(subscripts, *arrays, threads=1),
                        lambda: np.einsum(subscripts, *arrays, optimize=True)], budget)
    return [median for median, _ in times]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tune", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if not given.tune >= 0:
        parser.error(f"--tune is {given.tune}; give seconds from 0 on")
    cases = contractions()[:: 5 if given.quick else 1]
    if given.list:
        print("\n".join(named(*case) for case in cases))
        return
    ratios, outside, begin = {}, 0, time.perf_counter()
    print(f"{'microseconds a call':58} {'lathe':>9} {'numpy':>9}  ratio")
    for case in cases:
        mine, theirs = measured(*case, given.tune, 0.4 if given.quick else 1.5)
        outside += not SHORTEST <= theirs <= LONGEST
        ratios[named(*case)] = theirs / mine
        print(f"{named(*case):58} {mine * 1e6:9.2f} {theirs * 1e6:9.2f}  {theirs / mine:5.2f}",
              flush=True)
    slower = {name: ratio for name, ratio in ratios.items() if ratio < 0.95}
    print(f"{len(ratios)} contractions in {time.perf_counter() - begin:.0f} s, geometric mean "
          f"{mean(list(ratios.values())):.2f}, least {min(ratios.values()):.2f}, {len(slower)} "
          f"under 0.95; NumPy took less than 20 us or more than 20 ms for {outside}")
    for name, ratio in sorted(slower.items(), key=lambda item: item[1]):
        print(f"  {ratio:.2f} {name}")


if __name__ == "__main__":
    main()
