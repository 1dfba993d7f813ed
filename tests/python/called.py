#!/usr/bin/env python3
"""bench_called races a row against the pinned clock and after pauses, and refuses what is wrong.

Usage: called.py BENCH-FOLDER BUILD-FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path

ROW = "avgpool-256x28-2-2"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    bench, build = Path(sys.argv[1]), sys.argv[2]

    def run(*words):
        return subprocess.run([sys.executable, "-B", bench / "bench_called", "--build", build,
                               "--rounds", "3", "--turn-ms", "1", *words], capture_output=True,
                              text=True)

    for words in ([], ["--pause-ms", "1"]):
        done = run(ROW, "--least-us", "0", "--json", *words)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert [row["name"] for row in found["rows"]] == [ROW], found
        for kind in ("python", "c"):
            assert found["rows"][0][kind] > 0, found
            assert abs(found["means"][kind] - found["rows"][0][kind]) < 1e-9, found
    nothing = run(ROW, "--least-us", "1e9", "--json")
    assert (nothing.returncode, json.loads(nothing.stdout)["rows"]) == (0, []), nothing.stderr
    unknown = ([ROW, "--callers", "fortran"], "fortran")
    for words, why in ((["no-such-row"], "they are C1"), unknown):
        wrong = run(*words)
        assert wrong.returncode == 2 and why in wrong.stderr, wrong.stderr


if __name__ == "__main__":
    main()
