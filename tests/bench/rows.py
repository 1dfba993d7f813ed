#!/usr/bin/env python3
"""Every row of bench_families, bench_metaschedule and bench_budgets, and what never_slower draws,
is a workload that lathe takes, the peers' lines are Python, and the probe moves the bytes of all
tensors: what lathe counts, and with a stride more, for lathe leaves out what is not read.

Usage: rows.py BENCH-FOLDER LATHE
"""

import re
import shlex
import subprocess
import sys


def shown(lathe, *words):
    done = subprocess.run([lathe, "show", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return done.stdout


def megabytes(text):
    """Of inputs and outputs, as `lathe show` counts them."""
    number, unit = re.search(r"([\d.e+-]+) ([kMG]?B) of inputs and outputs", text).groups()
    return float(number) * {"B": 1e-6, "kB": 1e-3, "MB": 1, "GB": 1e3}[unit]


def check_row(row, lathe, bytes_moved):
    text = shown(lathe, row.expression)
    moved = bytes_moved(row, text) * 1e-6
    counted = megabytes(text)
    if not (0.99 * counted <= moved <= (1.01 if "2*x" not in row.expression else 4) * counted):
        raise ValueError(f"the probe moves {moved} MB, lathe counts {counted}")
    for code in row.codes.values():
        compile(code, row.name, "eval")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, lathe = sys.argv[1:]
    sys.path.insert(0, folder)
    import budget_rows
    import drawn_workloads
    import families
    import family_peers
    import tuning_rows

    failed = 0
    checks = {row.name: lambda row=row: check_row(row, lathe, family_peers.bytes_moved)
              for row in families.ROWS.values()}
    checks |= {name: lambda expression=expression: shown(lathe, expression)
               for name, (expression, _) in tuning_rows.ROWS.items()}
    checks |= {f"budget {name}": lambda name=name: shown(lathe, *budget_rows.words_of(name))
               for name in budget_rows.ROWS}
    checks |= {f"drawn {shlex.join(words)}": lambda words=words: shown(lathe, *words)
               for words in drawn_workloads.drawn(48, 33)}
    for name, check in checks.items():
        try:
            check()
        except (ValueError, SyntaxError) as error:
            failed += 1
            print(f"{name}: {error}")
    print(f"{len(checks)} rows, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
