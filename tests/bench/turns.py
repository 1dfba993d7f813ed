#!/usr/bin/env python3
"""bench_turns races a row in either way, lists 40, and refuses what is no row.

Usage: turns.py BENCH-FOLDER BUILD-FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    bench, build = Path(sys.argv[1]), sys.argv[2]

    def run(*words):
        return subprocess.run([sys.executable, "-B", bench / "bench_turns", "--build", build,
                               "--rounds", "2", "--turn-ms", "1", *words], capture_output=True,
                              text=True)

    for words in (["--threads", "64"], ["--threads", "2", "--pool"]):
        done = run("avgpool-global-512x28", "--json", *words)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert [row["name"] for row in found["rows"]] == ["avgpool-global-512x28"], found
        assert found["rows"][0]["times"] == found["least"] > 0, found
    wrong = run("no-such-row")
    assert wrong.returncode == 2, wrong.stderr
    assert len(wrong.stderr[wrong.stderr.index("they are"):].split(",")) == 40, wrong.stderr


if __name__ == "__main__":
    main()
