"""The table of scripts/demo: what naive loops, the default schedule, the tuned one and NumPy reach
for one workload. The last three take turns until it is certain which is faster; where that cannot
be told, the table says so. Each shows its fastest, for other work only slows them down.

Usage: demo_table.py TITLE NUMPY-CODE WORD...
"""

import itertools
import json
import math
import os
import statistics
import subprocess
import sys

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench")
sys.path.insert(0, BENCH)
from contest import Contestant, Refused, race  # noqa: E402

LATHE = "build/release/bin/lathe"
DEFAULT, TUNED = "default schedule, no trial", "tuned"
ROUNDS, MOST_ROUNDS = 41, 164
TURN_SECONDS = 0.01
CHANCE = 0.01  # that equals come out in such an order
SAME = 0.02  # who differs by less in most rounds is as fast


def lathe(words):
    done = subprocess.run([LATHE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def shapes(words):
    said = [words[i + 1].split("=") for i, word in enumerate(words) if word == "--shape"]
    return {name: [int(size) for size in sizes.split(",")] for name, sizes in said}


def served(name, words):
    schedule = {DEFAULT: "default", TUNED: "best"}[name]
    return Contestant(name, [LATHE, "bench", *words, "--schedule", schedule, "--serve"])


def numpy_peer(code, words):
    setup = {"library": "numpy", "inputs": shapes(words), "constants": [], "code": code,
             "threads": 1, "cache": "warm"}
    peer = Contestant("NumPy", [sys.executable, "-B", os.path.join(BENCH, "peers/python_peer.py")],
                      setup, {"OPENBLAS_NUM_THREADS": "1"})
    peer.name = f"NumPy {peer.detail.split()[-1]}, `{code}`"
    return peer


def order(a, b):
    """Of two contestants' times, round by round: -1 where the first is faster, 1 where the second
    is, 0 where they are as fast, and None where it is not certain."""
    rounds, wins = len(a), sum(x < y for x, y in zip(a, b))
    fewer = min(wins, rounds - wins)
    chance = 2 * sum(math.comb(rounds, k) for k in range(fewer + 1)) / 2**rounds
    low, _, high = statistics.quantiles([x / y for x, y in zip(a, b)], n=4)
    if 1 - SAME < low and high < 1 + SAME:
        return 0
    side = -1 if 2 * wins > rounds else 1
    agrees = side * (min(a) - min(b)) > 0  # with what the table shows
    return side if chance < CHANCE and agrees else None


def contest(contestants):
    """Times of each, round by round: of so many rounds that the order of all is certain, if that
    can be."""
    times = {contestant.name: [] for contestant in contestants}
    while True:
        race(contestants, ROUNDS, TURN_SECONDS, seed=len(times[TUNED]))
        for contestant in contestants:
            times[contestant.name] += contestant.times
        pairs = itertools.combinations(times.values(), 2)
        if len(times[TUNED]) >= MOST_ROUNDS or all(order(a, b) is not None for a, b in pairs):
            return times


def remarks(times):
    for (one, a), (other, b) in itertools.combinations(times.items(), 2):
        found = order(a, b)
        if found is None:
            yield (f"whether {one} or {other} is faster is not certain: their times differ by "
                   "less than this machine's noise")
        elif found == 0:
            yield f"{one} and {other} are as fast, within {100 * SAME:.0f} %"


def measured(code, words):
    """Times by name. Where the default schedule is certainly faster than what tuning chose, the
    choice was made on a disturbed machine and is made again."""
    contestants = [served(DEFAULT, words), served(TUNED, words)]
    try:
        if code:
            contestants.append(numpy_peer(code, words))
    except Refused as refusal:
        print(f"(NumPy takes no part: {refusal})")
    try:
        times = contest(contestants)
        if order(times[DEFAULT], times[TUNED]) == -1:
            print("(the default schedule is faster than the tuned one now: racing again)")
            subprocess.run([LATHE, "race", *words, "--time", "20"], stdout=subprocess.DEVNULL)
            contestants[1].close()
            contestants[1] = served(TUNED, words)
            times = contest(contestants)
        return times
    except Refused as refusal:
        sys.exit(str(refusal))
    finally:
        for contestant in contestants:
            contestant.close()


def main():
    title, code, *words = sys.argv[1:]
    naive = json.loads(lathe(["bench", *words, "--schedule", "naive", "--json"]))
    operations = naive["gflops"] * naive["seconds"]  # as it is written, padding included
    times = measured(code, words)
    rows = [("naive loops", naive["seconds"])]
    rows += [(name, min(list_)) for name, list_ in times.items()]
    print(f"\n{title:<58}{'ms':>9}{'GFLOP/s':>9}")
    for row, seconds in rows:
        print(f"  {row:<56}{seconds * 1e3:>9.3g}{operations / seconds:>9.1f}")
    print(f"  (multiply-adds in registers reach {naive['peak_gflops']:.0f} GFLOP/s; an algorithm with"
          " fewer products may count more)")
    for remark in remarks(times):
        print(f"  ({remark})")


if __name__ == "__main__":
    main()
