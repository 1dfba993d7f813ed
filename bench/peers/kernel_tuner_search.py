#!/usr/bin/env python3
"""Kernel Tuner's own strategies on recorded spaces, in its simulation mode: the rows that
bench_search --replay prints.

Each recording is exported to its cache format (`lathe space export`); each strategy runs with its
defaults for at most --trials evaluations, those of configurations it evaluated before not counted,
or until one within 1 % of the best. The package is PyPI's kernel-tuner; strategies whose own
packages are missing are left out and named.

    python3 -m venv env && env/bin/pip install kernel-tuner==1.5.0
    env/bin/python bench/peers/kernel_tuner_search.py bench/spaces/C6.json.zst --json
"""

import argparse
import contextlib
import hashlib
import io
import json
import math
import multiprocessing
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# brute_force searches nothing; nsga2 and nsga3 are for several objectives.
LEFT_OUT = ["brute_force", "nsga2", "nsga3"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="*", type=Path, help="default: all of bench/spaces")
    parser.add_argument("--strategies", help="NAME,... (default: all)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600,
                        help="a run may take; then it counts as ended there")
    parser.add_argument("--rows", type=Path,
                        help="finished rows are kept here, and not worked out again")
    parser.add_argument("--lathe", type=Path, default=ROOT / "build/release/bin/lathe")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def watch(space, limits):
    """Kernel Tuner's simulated device, which also counts what it is asked for the first time."""
    import time

    from kernel_tuner import util
    from kernel_tuner.runners import simulation

    best = min(entry["time"] for entry in space["cache"].values() if not isinstance(entry["time"],
                                                                                    str))
    seen, reached = set(), {"trials_95": None, "trials_99": None}
    end = time.monotonic() + limits["seconds"]
    original = simulation.SimulationRunner.run

    def look(result, key):
        if key in seen:
            return
        seen.add(key)
        seconds = result.get("time")
        if not isinstance(seconds, (int, float)):
            return
        for name, share in (("trials_95", 0.95), ("trials_99", 0.99)):
            if reached[name] is None and len(seen) <= limits["trials"] and best >= share * seconds:
                reached[name] = len(seen)

    def run(self, parameter_space, tuning_options):
        elements = list(parameter_space)
        results = original(self, elements, tuning_options)
        for element, result in zip(elements, results):
            if result is not None:
                look(result, ",".join(str(value) for value in element))
        out_of_trials = len(seen) >= limits["trials"] or time.monotonic() > end
        if reached["trials_99"] is not None or out_of_trials:
            raise util.StopCriterionReached("found, or out of trials")
        return results

    simulation.SimulationRunner.run = run
    return reached


def search(job):
    """One run, in a process of its own: (trials to 95 %, to 99 %), or what went wrong."""
    cache, strategy, seed, limits = job
    import numpy

    warnings.simplefilter("ignore")
    random.seed(seed)
    numpy.random.seed(seed)
    space = json.loads(Path(cache).read_text())
    reached = watch(space, limits)
    names = space["tune_params_keys"]
    valid = space["cache"]
    whole = math.prod(len(values) for values in space["tune_params"].values()) == len(valid)

    def is_valid(config):
        return ",".join(str(config[name]) for name in names) in valid

    import kernel_tuner

    with contextlib.redirect_stdout(io.StringIO()):
        try:
            kernel_tuner.tune_kernel(
                space["kernel_name"], "", tuple(space["problem_size"]), [], space["tune_params"],
                lang="C", cache=cache,
                restrictions=None if whole else is_valid, simulation_mode=True, quiet=True,
                verbose=False, strategy=strategy, strategy_options={"max_fevals": limits["trials"]})
        except ImportError as missing:
            return {"missing": str(missing)}
        # The stop may pass through; anything else before it is the strategy's own.
        except Exception as failure:
            if reached["trials_99"] is None and type(failure).__name__ != "StopCriterionReached":
                return {"failed": f"{type(failure).__name__}: {failure}"}
    return reached


def nearest(values, share):
    return values[math.floor(share * (len(values) - 1) + 0.5)]


def identity(recording, space, strategy, options):
    """What tells a row from every other."""
    return {"space": space, "arm": f"kernel-tuner-{strategy}", "seeds": options.seeds,
            "trials": options.trials,
            "seconds": options.seconds,
            "recording": hashlib.sha256(recording.read_bytes()).hexdigest()[:16]}


def row_of(known, runs):
    row = dict(known)
    failures = [run["failed"] for run in runs if "failed" in run]
    if failures:
        row["failed"] = {"runs": len(failures), "first": failures[0]}
    for name in ("trials_95", "trials_99"):
        values = sorted(run.get(name) or math.inf for run in runs)
        for key, share in (("median", 0.5), ("quartile1", 0.25), ("quartile3", 0.75)):
            value = nearest(values, share)
            row[f"{key}_{name}"] = None if math.isinf(value) else value
        row[f"reached_{name}"] = sum(not math.isinf(value) for value in values)
        row[name] = [run.get(name) for run in runs]
    return row


def strategies_of(options):
    from kernel_tuner.interface import strategy_map

    known = [name for name in strategy_map if name not in LEFT_OUT]
    chosen = options.strategies.split(",") if options.strategies else known
    for name in chosen:
        if name not in known:
            sys.exit(f"Kernel Tuner has no strategy {name}; known are {', '.join(known)}")
    return chosen


def export(options, recording, folder):
    cache = folder / f"{recording.name}.json"
    done = subprocess.run([options.lathe, "space", "export", recording, "-o", cache],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return cache


def kept_rows(options):
    if options.rows is None or not options.rows.exists():
        return []
    rows = []
    for line in options.rows.read_text().splitlines():
        with contextlib.suppress(ValueError):  # a kill cut it short; it is computed again
            rows.append(json.loads(line))
    return rows


def keep(options, row):
    if options.rows is None:
        return
    there = options.rows.exists() and options.rows.stat().st_size > 0
    cut_short = there and not options.rows.read_bytes().endswith(b"\n")
    with options.rows.open("a") as file:
        file.write("\n" * cut_short + json.dumps(row) + "\n")


def measure(options, pool, cache, strategy, known):
    """The row of one strategy on one space; None where its packages are missing."""
    limits = {"trials": options.trials, "seconds": options.seconds}
    runs = pool.map(search, [(str(cache), strategy, seed, limits) for seed in range(options.seeds)],
                    chunksize=1)
    missing = [run["missing"] for run in runs if "missing" in run]
    if missing:
        print(f"{strategy} is left out: {missing[0]}", file=sys.stderr)
        return None
    return row_of(known, runs)


def print_row(row):
    cells = [row[f"{key}_{name}"] for name in ("trials_95", "trials_99")
             for key in ("quartile1", "median", "quartile3")]
    print(f"{row['space']:16} {row['arm']:36}" + " ".join(f"{'-' if cell is None else cell:>6}"
                                                          for cell in cells), flush=True)
    if "failed" in row:
        print(f"{row['arm']} on {row['space']}: {row['failed']['runs']} of its runs failed, "
              f"the first with {row['failed']['first']}", file=sys.stderr)


def main():
    options = arguments()
    recordings = options.recordings or sorted((ROOT / "bench/spaces").glob("*.json.zst"))
    kept, rows = kept_rows(options), []
    # A process a run: strategies keep state in modules, and the runs count by a patched class.
    with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(
        options.jobs, maxtasksperchild=1) as pool:
        for recording in recordings:
            cache = export(options, recording, Path(folder))
            space = json.loads(cache.read_text())["kernel_name"]
            for strategy in strategies_of(options):
                known = identity(recording, space, strategy, options)
                row = next((row for row in kept if known.items() <= row.items()), None)
                if row is None:
                    row = measure(options, pool, cache, strategy, known)
                    if row is None:
                        continue
                    keep(options, row)
                rows.append(row)
                if not options.json:
                    print_row(row)
    if options.json:
        print(json.dumps({"rows": rows}, indent=1))


if __name__ == "__main__":
    main()
