"""The table of scripts/demo: what naive loops, the default schedule, the tuned one and NumPy reach
for one workload. They take turns, and each shows its fastest, for other work only slows them down.

Usage: demo_table.py TITLE NUMPY-CODE WORD...
"""

import json
import os
import subprocess
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
ROUNDS = 3
NAMES = {"default": "default schedule, no trial", "best": "tuned"}


def bench(words, schedule):
    command = ["build/release/bin/lathe", "bench", *words, "--schedule", schedule, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def shapes(words):
    said = [words[i + 1].split("=") for i, word in enumerate(words) if word == "--shape"]
    return {name: [int(size) for size in sizes.split(",")] for name, sizes in said}


def numpy_caller(code, words):
    try:
        import numpy as np
    except ImportError:
        print("(NumPy is not there, so it takes no part)")
        return None, ""
    rng = np.random.default_rng(0)
    names = {name: rng.standard_normal(shape).astype(np.float32)
             for name, shape in shapes(words).items()}
    call = eval(f"lambda: {code}", {"np": np, **names})
    call()
    return call, f"NumPy {np.__version__}, `{code}`"


def fastest_call(call, seconds=0.5):
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def main():
    title, code, *words = sys.argv[1:]
    call, name = numpy_caller(code, words) if code else (None, "")
    runs = {schedule: [] for schedule in NAMES}
    times = []
    naive = bench(words, "naive")
    for _ in range(ROUNDS):
        for schedule, list_ in runs.items():
            list_.append(bench(words, schedule))
        if call:
            times.append(fastest_call(call))
    peak = max(run["peak_gflops"] for list_ in [*runs.values(), [naive]] for run in list_)
    operations = naive["gflops"] * naive["seconds"]  # as it is written, padding included
    rows = [("naive loops", naive["seconds"])]
    rows += [(NAMES[s], min(run["seconds"] for run in list_)) for s, list_ in runs.items()]
    if times:
        rows.append((name, min(times)))
    print(f"\n{title:<58}{'ms':>9}{'GFLOP/s':>9}")
    for row, seconds in rows:
        print(f"  {row:<56}{seconds * 1e3:>9.3g}{operations / seconds:>9.1f}")
    print(f"  (multiply-adds in registers reach {peak:.0f} GFLOP/s; an algorithm with fewer products"
          " may count more)")


main()
