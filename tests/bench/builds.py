#!/usr/bin/env python3
"""bench_builds finds the programs in which two builds differ, and races these and no others.

Usage: builds.py BENCH-FOLDER BUILD-FOLDER
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

# A build that shows another program of what is a softmax on AVX2, and runs the same ones.
OTHER = """#!/bin/sh
case "$1 $*" in
  "show "*exp*haswell*) echo another program ;;
  *) exec {lathe} "$@" ;;
esac
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    bench, build = (Path(word).resolve() for word in sys.argv[1:])

    def run(before, *words):
        return subprocess.run([sys.executable, "-B", bench / "bench_builds", before, "softmax-1",
                               "--build", build, "--rounds", "2", "--turn-ms", "1",
                               "--threads", "1", *words], capture_output=True, text=True)

    def found(*words):
        done = run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    same = found(build)
    assert same == {"rows": [], "compared": 6, "differ": 0}, same
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "bin/lathe"
        other.parent.mkdir()
        other.write_text(OTHER.format(lathe=build / "bin/lathe"), encoding="utf-8")
        other.chmod(0o755)
        listed = found(folder, "--list")
        assert listed["differ"] == 3 and len(listed["rows"]) == 3, listed
        assert all("haswell" in row["target"] for row in listed["rows"]), listed
        raced = found(folder, "--targets", "cpu:haswell", "--in-turns")
        assert raced["differ"] == 3 and raced["least"] > 0, raced
        everything = found(folder, "--all", "--list")
        assert len(everything["rows"]) == 6 and everything["differ"] == 3, everything
        missing = run(Path(folder) / "none")
        assert missing.returncode == 2 and "is not there" in missing.stderr, missing.stderr


if __name__ == "__main__":
    main()
