#!/usr/bin/env python3
"""The records that come with bench/ can be imported, and each is the best of its workload then: a
schedule that still applies, also where there are more threads than it has.

Usage: records.py FOLDER LATHE
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def run(lathe, *words):
    done = subprocess.run([lathe, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return done.stdout


def check(lathe, file, db):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    said = run(lathe, "import", str(file), "--db", db)
    if not said.startswith(f"{len(lines)} trials imported"):
        raise ValueError(f"of {len(lines)} lines: {said}")
    for line in lines:
        words = [line["workload"], "--target", line["target"], "--cache", line["cache"]]
        best = json.loads(run(lathe, "best", *words, "--json", "--db", db))
        if best["trace"] != line["trace"]:
            raise ValueError(f"another schedule is the best of {line['workload']}")
        run(lathe, "show", *words, "--schedule", "best", "--what", "scheduled", "--db", db)
    for line in lines[::10]:
        check_for_more_threads(lathe, line, lines, db)
    return len(lines)


def threads_of(line):
    return int(line["target"].rpartition("threads=")[2])


def check_for_more_threads(lathe, line, lines, db):
    """On 64 threads that for most threads serves, with as many as it has."""
    kind = line["target"].rpartition(";")[0]
    same = [other for other in lines
            if all(other[name] == line[name] for name in ("workload", "cache"))
            and other["target"].startswith(kind + ";")]
    most = max(same, key=threads_of)
    found = json.loads(run(lathe, "best", line["workload"], "--target", kind, "--threads", "64",
                           "--cache", line["cache"], "--json", "--db", db))
    if (found["target"], found["trace"]) != (most["target"], most["trace"]):
        raise ValueError(f"on 64 threads another schedule is the best of {line['workload']}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, lathe = sys.argv[1:]
    files = sorted(Path(folder).glob("*.jsonl"))
    if not files:
        sys.exit(f"{folder} has no records")
    for file in files:
        with tempfile.TemporaryDirectory() as place:
            print(f"{file.name}: {check(lathe, file, place + '/records.db')} records")


main()
