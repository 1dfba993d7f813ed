#!/usr/bin/env python3
"""Random configurations for cards of the convolutions of ResNet-18 and of a matrix product become
PTX that NVIDIA's assembler takes: 99 % of them, and 95 % of these spill nothing.

Usage: card_configs.py BENCH-FOLDER CARD-CONFIGS ARCHITECTURE [--count N] [--seed N] [--table]
  --count N tries N configurations of each space (6)
"""

import argparse
import math
import subprocess
import sys

ASSEMBLED, UNSPILLED = 0.99, 0.95
MATMUL = "A: f32[1024,1024]; B: f32[1024,1024]; C[i,j] = sum(k) A[i,k] * B[k,j]"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bench")
    parser.add_argument("program")
    parser.add_argument("architecture")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.bench)
    from families import ROWS

    rows = {f"C{i}": ROWS[f"plain-C{i}"].expression for i in range(1, 13)} | {"matmul": MATMUL}
    done = subprocess.run(
        [arguments.program, arguments.architecture, str(arguments.count), arguments.seed],
        input="".join(f"{name}\t{text}\n" for name, text in rows.items()), text=True,
        capture_output=True)
    lines = done.stdout.splitlines()
    if arguments.table:
        print("\n".join(lines))
    if done.returncode != 0 or len(lines) != len(rows):
        sys.exit("\n".join(lines) + done.stderr)
    found = [line.split(" ", 5) for line in lines]
    tried = arguments.count * len(rows)
    assembled, unspilled = (sum(int(words[i]) for words in found) for i in (2, 3))
    print(f"{arguments.architecture}: of {tried} configurations {assembled} assemble, {unspilled} "
          "of these without spills")
    if assembled < math.floor(ASSEMBLED * tried) or unspilled < UNSPILLED * assembled:
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
