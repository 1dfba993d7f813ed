"""Calls timed in turns, and a table of them."""

import math
import statistics
import time


def seconds_of(calls, budget):
    """Median and least seconds of each call; they take turns, so that all see the same machine."""
    counts = []
    for call in calls:
        call()
        begin = time.perf_counter()
        call()
        counts.append(max(1, min(2000, int(1e-3 / max(time.perf_counter() - begin, 1e-7)))))
    times = [[] for _ in calls]
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(times[0]) < 5:
        for call, count, kept in zip(calls, counts, times):
            begin = time.perf_counter()
            for _ in range(count):
                call()
            kept.append((time.perf_counter() - begin) / count)
    return [(statistics.median(kept), min(kept)) for kept in times]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def row(name, times, mine=0):
    """A line of microseconds, and how much faster `mine` is than the best of the others."""
    best = min(median for n, (median, _) in enumerate(times) if n != mine)
    ratio = best / times[mine][0]
    cells = " ".join(f"{median * 1e6:9.2f}" for median, _ in times)
    print(f"{name:38} {cells}  {ratio:5.2f}", flush=True)
    return ratio
