#!/usr/bin/env python3
"""bench_sharing says of a few rows what `lathe show` says, and refuses what is no row.

Usage: sharing.py BENCH-FOLDER BUILD-FOLDER
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    bench, build = Path(sys.argv[1]), sys.argv[2]

    def run(*words):
        return subprocess.run([sys.executable, "-B", bench / "bench_sharing", "--build", build,
                               *words], capture_output=True, text=True)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        done = run("plain-C12", "dense-ncf", "heads-", "--threads", "1,3,48", "--targets",
                   "cpu:haswell", "--json", str(file))
        assert done.returncode == 0, done.stderr
        rows = json.loads(file.read_text())
    assert len(rows) == 9, rows
    for row in rows:
        call = row["said"]["call"]
        by_all = row["large"] and row["threads"] <= 32
        assert row["share"] == call["share_of_offered" if by_all else "share"]
        assert 0 < row["share"] <= 1 + 1e-9, row["name"]
        assert row["used"] <= row["threads"]
        assert row["copies"] >= 1 and row.get("multiplies", 1) > 0.99, row["name"]
        assert row["large"] == (row["name"] == "plain-C12"), row["name"]
        if row["threads"] == 1:
            assert row["share"] == 1 and row["copies"] == 1, row["name"]
    for threads in (1, 3, 48):
        shares = [row["share"] for row in rows if row["threads"] == threads]
        mean = math.exp(sum(map(math.log, shares)) / 3)
        assert f"{threads:>3} threads: share {mean:.3f}," in done.stdout, done.stdout
    wrong = run("no-such-row")
    assert wrong.returncode == 2 and "no row is called no-such-row" in wrong.stderr, wrong.stderr
    wrong = run("dense-ncf", "--threads", "2;4")
    assert wrong.returncode == 2 and "no list of numbers" in wrong.stderr, wrong.stderr
    wrong = run("dense-ncf", "--threads", "0", "--targets", "cpu:haswell")
    assert wrong.returncode == 1 and "must be a whole number from 1" in wrong.stderr, wrong.stderr


if __name__ == "__main__":
    main()
