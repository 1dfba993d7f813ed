#!/usr/bin/env python3
"""The spaces of all rows of bench_families, and the schedules with which a search of them begins,
are those of spaces.txt, for one and two threads, AVX2 and AVX-512; also of some rows with what else
an expression can ask for.

Usage: spaces.py BENCH-FOLDER SPACE-HASHES            compare
       spaces.py BENCH-FOLDER SPACE-HASHES --write    write spaces.txt anew, where a change is meant
"""

import subprocess
import sys
from pathlib import Path

LISTED = Path(__file__).resolve().parent / "spaces.txt"
ASKED = ["layout free", "numerics componentwise", "numerics normwise", "algorithm direct",
         "algorithm cook_toom", "algorithm F4", "algorithm strassen"]
STEP = 9  # of every so many rows


def lines_of(rows):
    """A line for each row, and for some with each of the things that may be asked for."""
    for number, (name, row) in enumerate(rows.items()):
        yield f"{name}\t{row.expression}"
        if number % STEP == 0:
            for asked in ASKED:
                yield f"{name}-{asked.replace(' ', '-')}\t{row.expression}; {asked}"


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--write"]):
        sys.exit(__doc__)
    bench, program = sys.argv[1:3]
    sys.path.insert(0, bench)
    from families import ROWS

    done = subprocess.run([program], input="\n".join(lines_of(ROWS)) + "\n", text=True,
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    if sys.argv[3:]:
        LISTED.write_text(done.stdout, encoding="utf-8")
        return
    changed = sorted(set(done.stdout.splitlines()) ^
                     set(LISTED.read_text(encoding="utf-8").splitlines()))
    if changed:
        sys.exit(f"{len(changed)} lines differ:\n" + "\n".join(changed[:20]) +
                 "\nWhere that is meant, say why, and write the list anew with --write.")


if __name__ == "__main__":
    main()
