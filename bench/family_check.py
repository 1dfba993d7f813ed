"""Whether all who take part in a row compute the same: their results on the same inputs against
PyTorch's in f64. oneDNN's own programs have random inputs of their own and are not asked.
"""

import array
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import family_peers
import lathe_runs
from contest import Contestant, Refused

# Of the largest magnitude; where that is less, of what as many numbers in [-1, 1] add up to as an
# output has inputs, for single sums may cancel.
ALLOWED = 1e-4


def result_of(contestant, path):
    """The result of a call, as f64."""
    contestant.go_on()
    contestant.say(f"save {path}")
    answer = contestant.hear()
    if not answer.isdigit():
        raise Refused(answer.removeprefix("error").strip())
    values = array.array("d")
    with open(path, "rb") as file:
        values.fromfile(file, int(answer))
    return values


def lathe_contestant(row, options, words, folder):
    """The library that `lathe compile` writes, called from Python."""
    command = [lathe_runs.program(options), "compile", *words, "--schedule", options.schedule,
               "--name", "row", "-o", f"{folder}/row.so"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    setup = {"library": "lathe", "path": f"{folder}/row.so", "inputs": row.inputs,
             "constants": row.constants}
    peer = Path(__file__).resolve().parent / "peers/python_peer.py"
    return Contestant("lathe", [str(options.python), "-B", str(peer)], setup,
                      threads=options.threads)


def largest_error(values, reference, row):
    if len(values) != len(reference):
        raise Refused(f"{len(values)} elements instead of {len(reference)}")
    terms = max(map(math.prod, row.inputs.values())) / len(reference)
    scale = max(1, math.sqrt(terms), max(map(abs, reference)))
    return max(abs(a - b) for a, b in zip(values, reference)) / scale


def check(row, options, words):
    """By name, the largest error or why there is none."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        def ask(name, start):
            contestant = None
            try:
                contestant = start()
                return result_of(contestant, f"{folder}/{name}")
            except Refused as refusal:
                found[name] = str(refusal)
            finally:
                if contestant:
                    contestant.close()

        starts = {name: lambda name=name: family_peers.start(name, row, options)
                  for name in options.chosen_peers if name in row.codes}
        starts["lathe"] = lambda: lathe_contestant(row, options, words, folder)
        reference = ask("reference", lambda: family_peers.python_contestant(
            row, "reference", options, code_of="torch"))
        for name, start in starts.items() if reference else []:
            values = ask(name, start)
            if values is not None:
                try:
                    found[name] = largest_error(values, reference, row)
                except Refused as refusal:
                    found[name] = str(refusal)
    return found


def is_right(error):
    """NaN is not."""
    return not isinstance(error, str) and error <= ALLOWED


def text_of(error):
    return error if isinstance(error, str) else f"{error:.1e}"


def check_all(options, lathe_words):
    """Prints a line a row; 1 if any result is wrong or missing."""
    rows = []
    for row in options.chosen:
        errors = check(row, options, lathe_words(row, options))
        wrong = [name for name, error in errors.items() if not is_right(error)]
        rows.append({"name": row.name, "errors": errors, "wrong": wrong})
        said = "  ".join(f"{name} {text_of(error)}" for name, error in errors.items())
        print(f"{row.name:<32} {'WRONG' if wrong else 'same'}  {said}", flush=True,
              file=sys.stderr if options.json else sys.stdout)
    if options.json:
        print(json.dumps({"allowed": ALLOWED, "rows": rows}, indent=1))
    return 1 if any(row["wrong"] for row in rows) else 0
