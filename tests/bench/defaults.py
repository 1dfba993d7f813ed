#!/usr/bin/env python3
"""The default programs of all rows of bench_families are those of defaults.txt, for one and two
threads, AVX2 and AVX-512.

Usage: defaults.py BENCH-FOLDER LATHE            compare
       defaults.py BENCH-FOLDER LATHE --write    write defaults.txt anew, where a change is meant

A line has a row, a target, and the beginning of a hash of the flat program's text.
"""

import concurrent.futures
import hashlib
import os
import subprocess
import sys
from pathlib import Path

TARGETS = [f"cpu:{name};threads={threads}" for name in ("haswell", "skylake-avx512")
           for threads in (1, 2)]
LISTED = Path(__file__).resolve().parent / "defaults.txt"


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--write"]):
        sys.exit(__doc__)
    bench, lathe = sys.argv[1:3]
    sys.path.insert(0, bench)
    from families import ROWS

    def line(row, target):
        done = subprocess.run([lathe, "show", ROWS[row].expression, "--what", "flat", "--target",
                               target], capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{row}, {target}: {done.stderr.decode()}")
        return f"{row} {target} {hashlib.sha256(done.stdout).hexdigest()[:12]}"

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(line, *zip(*((row, target) for row in ROWS for target in TARGETS))))
    if sys.argv[3:]:
        LISTED.write_text("\n".join(found) + "\n", encoding="utf-8")
        return
    listed = LISTED.read_text(encoding="utf-8").splitlines()
    changed = sorted(set(found) ^ set(listed))
    if changed:
        sys.exit(f"{len(changed)} lines differ:\n" + "\n".join(changed[:20]) +
                 "\nWhere that is meant, say why, time both, and write the list anew with --write.")


if __name__ == "__main__":
    main()
