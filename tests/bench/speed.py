#!/usr/bin/env python3
"""bench_speed compares what both builds measure, trials of all rows together, and calls from C.

Usage: speed.py BENCH-FOLDER BUILD-FOLDER
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

# bench_search is built on demand only: this one says what it would, and one thing that the other
# build does not measure.
SEARCH = """#!/bin/sh
echo '{{"rows": [{{"workload": "C6", "what": "scores", "value": {value}, "unit": "/s"}},
 {{"workload": "C6", "what": "{own}", "value": 1, "unit": "/s"}},
 {{"workload": "C6", "what": "training", "value": 1, "unit": "ms"}}]}}'
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    bench, build = (Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        builds = []
        for name, value in (("before", 100), ("now", 150)):
            programs = Path(folder) / name / "bin"
            programs.mkdir(parents=True)
            (programs / "lathe").symlink_to(build / "bin/lathe")
            search = programs / "bench_search"
            search.write_text(SEARCH.format(value=value, own=name), encoding="utf-8")
            search.chmod(0o755)
            builds.append(programs.parent)

        def run(*words):
            return subprocess.run([sys.executable, "-B", bench / "bench_speed", *words],
                                  capture_output=True, text=True)

        words = ["matmul --m 7 --n 5 --k 3", "--pairs", "2", "--trials", "2", "--calls", "3",
                 "--no-paper", "--json"]
        done = run(builds[0], "--build", builds[1], *words)
        assert done.returncode == 0, done.stderr
        rows = {(row["kind"], row["what"]): row for row in json.loads(done.stdout)["rows"]}
        kinds = [kind for kind, _ in rows]
        assert kinds.count("proposing") == 1 and kinds.count("trials") == 2, rows
        assert kinds.count("calls") == 3, rows
        assert abs(rows["proposing", "C6, scores"]["mean"] - 1.5) < 1e-9, rows
        assert all(row["pairs"] == 2 and row["mean"] > 0 for row in rows.values()), rows

        missing = run(Path(folder) / "none", "--build", builds[1])
        assert missing.returncode == 2 and "-DLATHE_BENCH=ON" in missing.stderr, missing.stderr
        (builds[1] / "bin/bench_search").write_text("#!/bin/sh\necho broken >&2; exit 3\n")
        failed = run(builds[0], "--build", builds[1], *words)
        assert failed.returncode == 1 and "broken" in failed.stderr, failed.stderr


if __name__ == "__main__":
    main()
