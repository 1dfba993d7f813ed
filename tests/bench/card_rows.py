#!/usr/bin/env python3
"""The default programs for cards of all rows of bench_families become PTX that NVIDIA's assembler
takes, 95 % of them without spills; those that are small enough are executed here and are right.

Usage: card_rows.py BENCH-FOLDER CARD-ROWS ARCHITECTURE... [--flops N] [--table]
  --flops N executes what has at most N operations (2e6)
  --table prints what is known of each row
"""

import argparse
import subprocess
import sys

UNSPILLED = 0.95


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bench")
    parser.add_argument("program")
    parser.add_argument("architectures", nargs="+")
    parser.add_argument("--flops", default="2e6")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.bench)
    from families import ROWS

    rows = "".join(f"{name}\t{row.expression}\n" for name, row in ROWS.items())
    wrong = []
    for architecture in arguments.architectures:
        done = subprocess.run([arguments.program, architecture, arguments.flops], input=rows,
                              text=True, capture_output=True)
        lines = done.stdout.splitlines()
        if arguments.table:
            print("\n".join(f"{architecture} {line}" for line in lines))
        found = [line.split(" ", 7) for line in lines]
        wrong += [f"{architecture} {' '.join(words)}" for words in found
                  if words[-1] not in ("right", "left") or len(words) != 8]
        spilled = [words[0] for words in found if len(words) == 8 and words[4] != "0"]
        if len(lines) != len(ROWS):
            wrong.append(f"{architecture}: {len(lines)} of {len(ROWS)} rows; {done.stderr}")
        if len(spilled) > (1 - UNSPILLED) * len(ROWS):
            wrong.append(f"{architecture}: {len(spilled)} rows spill: {', '.join(spilled)}")
        times = sorted(float(words[1]) for words in found if len(words) == 8)
        right = sum(words[-1] == "right" for words in found)
        if times:
            print(f"{architecture}: {len(lines)} rows, {len(spilled)} spill, {right} were executed "
                  f"and are right; PTX takes {times[len(times) // 2]:.1f} ms in the median")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
